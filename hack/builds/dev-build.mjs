/**
 * Loaded by `npm run dev` before the program, which then has no `dist/build.json`: asks git at each start. Child
 * processes get the result in their environment.
 */
import { buildInfo } from './build-info.mjs';

const { version, commit } = buildInfo();
process.env.BUILD_VERSION = version;
process.env.BUILD_COMMIT = commit;
