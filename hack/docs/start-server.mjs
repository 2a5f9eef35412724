import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const START_TIMEOUT_MS = 60_000;

/**
 * A fresh server on a free port, in a folder that looks like the repository to a reader's commands, but for `data`, which is the server's own.
 * Runs what is in `dist`.
 */
export async function startServer(root) {
  const folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-docs-'));
  // PostgreSQL's own user has to pass where we are root.
  await chmod(folder, 0o711);
  const noConfig = join(folder, '.config');
  await mkdir(noConfig);
  for (const name of await readdir(root)) {
    if (!['data', '.git', 'coverage'].includes(name)) await symlink(join(root, name), join(folder, name));
  }
  const args = [join(root, 'dist/cmd/svc/main.js'), 'serve', '--svc.server.port=0', '--svc.data.dir=data', `--config=${noConfig}`];
  const child = spawn(process.execPath, args, { cwd: folder, env: withoutOptions(process.env), stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const stop = async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    return { url: await readyUrl(child, exited), folder, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The reader's own settings must not decide whether the documentation is right. */
export function withoutOptions(environment) {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('SVC_')));
}

/** Reads the log until it says ready, and goes on emptying it. */
function readyUrl(child, exited) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`the server was not ready within ${START_TIMEOUT_MS} ms`)), START_TIMEOUT_MS);
    void exited.then((code) => reject(new Error(`the server ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return;
      const { msg, url } = JSON.parse(line);
      if (msg !== 'ready') return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}
