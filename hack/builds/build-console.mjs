/**
 * Writes the console to `console/dist`, where the server reads it: `npm run build:console`. `npm start` does so if it is
 * missing or older than its sources.
 *
 *   node hack/builds/build-console.mjs [FOLDER]    default of the output: console/dist
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isNewer } from './build-info.mjs';

const repository = fileURLToPath(new URL('../..', import.meta.url));
/** What the console is made of. */
const inputs = [
  'console/index.html',
  'console/uc.html',
  'console/src',
  'console/vite.config.ts',
  'pkg/webclient',
  'pkg/apimachinery',
];

/**
 * A server that runs never sees half a build: it is written next to the folder, and then takes its place.
 *
 * @throws Error of vite, which has printed what is wrong
 */
export async function buildConsole(folder = join(repository, 'console/dist')) {
  const { build } = await import('vite');
  const { NODE_ENV } = process.env;
  const written = `${folder}.${process.pid}`;
  // Whatever runs this builds what users load.
  process.env.NODE_ENV = 'production';
  try {
    await build({
      configFile: join(repository, 'console/vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: written },
    });
    await rm(folder, { recursive: true, force: true });
    await rename(written, folder);
  } finally {
    await rm(written, { recursive: true, force: true });
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  }
}

export function isConsoleBuilt(root = repository) {
  const page = join(root, 'console/dist/index.html');
  if (!existsSync(page)) return false;
  const built = statSync(page).mtimeMs;
  return !inputs.some((path) => isNewer(join(root, path), built));
}

if (realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await buildConsole(process.argv[2]);
