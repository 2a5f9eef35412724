/** `node --import ./hack/jest/register.mjs`: jest and its workers load TypeScript as Node.js loads JavaScript. */
import { register } from 'node:module';

register('./loader.mjs', import.meta.url);
