import { serveTabs } from '@svc/client/worker';

serveTabs();
