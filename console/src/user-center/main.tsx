import { startApp } from '../app.tsx';
import { texts } from '../texts/texts.ts';
import { UserCenter } from './user-center.tsx';

startApp({ base: '/uc', product: texts.userCenter.product, Shell: UserCenter });
