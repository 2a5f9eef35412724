import { serveTabs } from '../../../../pkg/webclient/worker/index.ts';

serveTabs();
