import { startApp } from './app.tsx';
import { readModelsEarly } from './server/discovery.ts';
import { mayHaveSession } from './server/server.ts';
import { Shell } from './shell/shell.tsx';
import { texts } from './texts/texts.ts';

if (mayHaveSession()) readModelsEarly();
startApp({ base: '/console', product: texts.product, Shell });
