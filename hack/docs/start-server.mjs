import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const startTimeoutMs = 60_000;

/**
 * Starts a fresh server on a free port, in a folder that looks like the repository to a reader's commands, except for
 * `data`, which is the server's own. Runs the build in `dist`: `svc serve`, or, with `inParts`, `svc apiserver` and
 * `svc controller-manager` with a PostgreSQL.
 */
export async function startServer(root, { inParts = false } = {}) {
  const folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-docs-'));
  // PostgreSQL's user must be able to enter if we are root.
  await chmod(folder, 0o711);
  const noConfig = join(folder, '.config');
  await mkdir(noConfig);
  for (const name of await readdir(root)) {
    if (!['data', '.git', 'coverage'].includes(name)) await symlink(join(root, name), join(folder, name));
  }
  const running = [];
  const stop = async () => {
    for (const part of running.toReversed()) await part.stop();
    await rm(folder, { recursive: true, force: true });
  };
  // Examples change plugins, and wait for the result.
  const interval = '--svc.plugins.interval=100ms';
  const start = async (...args) => {
    const program = startProgram(root, folder, [...args, '--svc.data.dir=data', `--config=${noConfig}`]);
    running.push(program);
    return program.ready;
  };
  try {
    if (!inParts) {
      const { url, accessUrl, tlsUrl, accessTlsUrl } = await start(
        'serve',
        '--svc.server.port=0',
        '--svc.access.port=0',
        '--svc.server.tls.port=0',
        '--svc.access.tls.port=0',
        interval,
      );
      return { url, accessUrl, tlsUrl, accessTlsUrl, folder, stop };
    }
    const { EmbeddedPostgres, silentLog } = await import(join(root, 'dist/pkg/database/index.js'));
    const postgres = await EmbeddedPostgres.start({ dataDir: join(folder, '.postgres'), log: silentLog });
    running.push(postgres);
    const { user, host, database } = postgres.connection;
    const onDatabase = `--svc.database.url=postgres://${user}@${encodeURIComponent(host)}/${database}`;
    const { url } = await start('apiserver', '--svc.server.port=0', onDatabase);
    await start('controller-manager', `--svc.controllers.api-url=${url}`, '--svc.controllers.port=0', interval);
    const { accessUrl } = await start(
      'access-server',
      '--svc.access.port=0',
      `--svc.access.api-url=${url}`,
      onDatabase,
    );
    return { url, accessUrl, folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function startProgram(root, folder, args) {
  const child = spawn(process.execPath, [join(root, 'dist/cmd/svc/main.js'), ...args], {
    cwd: folder,
    env: withoutOptions(process.env),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
  };
  return { ready: readyLine(child, exited), stop };
}

/** Neither the reader's own settings nor the number of cores must affect the result. */
export function withoutOptions(environment) {
  const others = Object.entries(environment).filter(([name]) => !name.startsWith('SVC_'));
  return { ...Object.fromEntries(others), SVC_SERVER_WORKERS: '1' };
}

/** Reads the log until the server is ready, and then keeps draining it. */
function readyLine(child, exited) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the server was not ready within ${startTimeoutMs} ms`)),
      startTimeoutMs,
    );
    void exited.then((code) => reject(new Error(`the server ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const { msg, ...facts } = JSON.parse(line);
      if (msg !== 'ready') return;
      clearTimeout(timer);
      resolve(facts);
    });
  });
}
