import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('../../dist/cmd/svc/main.js', import.meta.url));

/** Any process of svc that answers `/readyz` on a port, in a folder of its own. */
export class ChildServer {
  readonly #child: ChildProcess;

  /** Throws with its log where it does not become ready in time. */
  static async start({
    command,
    args,
    port,
    parent,
    timeoutMs = 60_000,
  }: {
    command: string;
    args: string[];
    port: number;
    parent: string;
    timeoutMs?: number;
  }): Promise<ChildServer> {
    const folder = await mkdtemp(join(parent, 'server-'));
    const log = openSync(join(folder, 'server.log'), 'w');
    const child = spawn(process.execPath, [program, command, `--svc.data.dir=${folder}`, ...args], {
      cwd: folder,
      env: {},
      stdio: ['ignore', log, log],
    });
    const server = new ChildServer(child);
    for (const deadline = performance.now() + timeoutMs; ; await delay(50)) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      if (answer?.ok === true) return server;
      if (child.exitCode === null && performance.now() < deadline) continue;
      await server.stop();
      throw new Error(await readFile(join(folder, 'server.log'), 'utf8'));
    }
  }

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 60_000);
    await ended;
    clearTimeout(late);
  }
}
