/**
 * `npm start`: builds if sources have changed, then runs `svc serve` in this process with the given arguments:
 * `npm start -- --svc.server.port=9000`. Another command may come first: `npm start -- migrate`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildInputs, isNewer, writeBuildInfo } from './builds/build-info.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const main = join(root, 'dist/cmd/svc/main.js');
const stamp = join(root, 'dist/.built');
const compiler = join(root, 'node_modules/typescript/bin/tsc');

const isInstalledBuild = !existsSync(compiler);
if (needsBuild()) await build();
if (!isInstalledBuild) await buildConsoleIfNeeded();
if (!existsSync(main)) {
  process.stderr.write(
    'svc: Nothing is built, and the compiler is not installed. Run npm ci and npm run build; npm prune --omit=dev may follow.\n',
  );
  process.exit(1);
}
if (!isInstalledBuild) writeBuildInfo(root);
if (process.env.npm_lifecycle_event === 'start') stopWithParent();
process.setSourceMapsEnabled(true);
const args = process.argv.slice(2);
const hasCommand = args[0] === '--version' || (args[0] !== undefined && !args[0].startsWith('-'));
process.argv = [process.argv[0], main, ...(hasCommand ? [] : ['serve']), ...args];
await import(pathToFileURL(main).href);

/**
 * A SIGTERM to npm ends npm and its shell, but does not reach this process: it can only notice that its parent has
 * ended.
 */
function stopWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, 200);
  timer.unref();
}

/** An installation without the compiler (`npm ci --omit=dev`) runs the existing build, with its version. */
function needsBuild() {
  if (isInstalledBuild) return false;
  if (!existsSync(main) || !existsSync(stamp)) return true;
  const built = statSync(stamp).mtimeMs;
  return buildInputs.some((path) => isNewer(join(root, path), built));
}

async function build() {
  const began = new Date();
  const { status, error } = spawnSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.build.json')], {
    stdio: 'inherit',
  });
  if (status !== 0) failBuild(error);
  // An installation without the compiler lacks what it imports.
  const { bundle } = await import('./builds/bundle.mjs');
  await bundle(root).catch(failBuild);
  writeFileSync(stamp, '');
  // A file that changes during the build must be built again.
  utimesSync(stamp, began, began);
}

/** An installation without the compiler has no builder of the console either: it serves the one that was built before. */
async function buildConsoleIfNeeded() {
  const { buildConsole, isConsoleBuilt } = await import('./builds/build-console.mjs');
  if (isConsoleBuilt(root)) return;
  process.stderr.write('svc: Building the console; this takes some seconds, until its sources change.\n');
  await buildConsole().catch(failBuild);
}

function failBuild(error) {
  process.stderr.write(`svc: The build failed${error === undefined ? '' : `: ${error.message}`}.\n`);
  process.exit(1);
}
