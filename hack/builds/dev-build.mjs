/**
 * Loaded by `npm run dev` before the program, which then has no `dist/build.json`: asks git at each of its starts. What
 * it starts in turn is told.
 */
import { buildInfo } from './build-info.mjs';

const { version, commit } = buildInfo();
process.env.BUILD_VERSION = version;
process.env.BUILD_COMMIT = commit;
