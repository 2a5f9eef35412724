import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const repository = fileURLToPath(new URL('..', import.meta.url));
const { PATH, HOME } = process.env;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-start-'));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o711);
  await installWithoutDevelopment();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** A checkout after `npm ci --omit=dev`; the packages are links. */
async function installWithoutDevelopment(): Promise<void> {
  for (const file of ['package.json', 'hack/start.mjs', 'hack/builds/build-info.mjs']) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await copyFile(join(repository, file), join(folder, file));
  }
  const { packages } = JSON.parse(await readFile(join(repository, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean }>;
  };
  for (const [path, { dev }] of Object.entries(packages)) {
    if (dev === true || path.lastIndexOf('node_modules/') !== 0) continue;
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await symlink(join(repository, path), join(folder, path));
  }
}

/** As `npm run build` does before `npm prune --omit=dev`. */
async function build(): Promise<void> {
  for (const name of ['cmd', 'pkg', 'tsconfig.json', 'tsconfig.build.json'])
    await cp(join(repository, name), join(folder, name), { recursive: true });
  const run = promisify(execFile);
  await run(process.execPath, [
    join(repository, 'node_modules/typescript/bin/tsc'),
    '-p',
    join(repository, 'tsconfig.build.json'),
    '--outDir',
    join(folder, 'dist'),
    '--tsBuildInfoFile',
    join(folder, '.tsbuildinfo'),
  ]);
  await run(process.execPath, [join(repository, 'hack/builds/bundle.mjs'), folder]);
}

test('without the compiler and without a build it says what to do', async () => {
  const child = spawn('npm', ['start', '--silent'], {
    cwd: folder,
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (text += piece.toString()));
  expect(await once(child, 'close')).toEqual([1, null]);
  expect(text).toBe(
    'svc: Nothing is built, and the compiler is not installed. Run npm ci and npm run build; npm prune --omit=dev may follow.\n',
  );
});

test('without development dependencies it runs the build, on the embedded PostgreSQL', async () => {
  await build();
  const ports = ['server.port', 'access.port', 'server.tls.port', 'access.tls.port'].map((name) => `--svc.${name}=0`);
  const child = spawn('npm', ['start', '--silent', '--', `--svc.data.dir=${join(folder, 'data')}`, ...ports], {
    cwd: folder,
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  let text = '';
  const ready = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        text += piece.toString();
        if (text.includes('"msg":"ready"')) resolve();
      });
    }
  });
  await Promise.race([ready, closed]);
  expect(text).toContain('"msg":"ready"');
  // npm does not forward it; the program notices that its parent has ended, and stops with its PostgreSQL.
  child.kill('SIGTERM');
  await closed;
  expect(text).toContain('"msg":"stopped"');
});
