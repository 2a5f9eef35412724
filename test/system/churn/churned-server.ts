import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../harness/free-port.ts';

const program = fileURLToPath(new URL('../../../dist/cmd/svc/main.js', import.meta.url));
const waitMs = 60_000;

/** What lives in the server's process; see life-meter.mjs. */
export interface Life {
  heapBytes: number;
  residentBytes: number;
  timers: number;
  ports: number;
  workers: number;
  resources: number;
  descriptors: number;
  threads: number;
  listeners: number;
}

/** The built `svc serve`, on a database and a folder of plugins of its own. */
export class ChurnedServer {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #token: string;

  /** `folder` holds `plugins`. */
  static async start(folder: string): Promise<ChurnedServer> {
    const port = await freePort();
    const log = openSync(join(folder, 'server.log'), 'w');
    const args = [
      'serve',
      `--svc.server.port=${port}`,
      `--svc.data.dir=${join(folder, 'data')}`,
      `--svc.plugins.dir=${join(folder, 'plugins')}`,
      '--svc.log.level=warn',
    ];
    const child = spawn(
      process.execPath,
      ['--import', new URL('life-meter.mjs', import.meta.url).href, program, ...args],
      {
        cwd: folder,
        env: { SVC_ACCESS_PORT: '0', SVC_SERVER_TLS_PORT: '0', SVC_ACCESS_TLS_PORT: '0' },
        stdio: ['ignore', log, log, 'ipc'],
      },
    );
    const url = `http://127.0.0.1:${port}`;
    const deadline = Date.now() + waitMs;
    while ((await fetch(`${url}/readyz`).catch(() => undefined))?.ok !== true) {
      if (child.exitCode !== null || Date.now() > deadline)
        throw new Error(`the server did not start:\n${await readFile(join(folder, 'server.log'), 'utf8')}`);
      await delay(50);
    }
    return new ChurnedServer(child, url, (await readFile(join(folder, 'data', 'admin-token'), 'utf8')).trim());
  }

  private constructor(child: ChildProcess, url: string, token: string) {
    this.#child = child;
    this.#url = url;
    this.#token = token;
  }

  /** Once nothing of the last stop is under way any more. */
  async life(): Promise<Life> {
    const answer = once(this.#child, 'message');
    this.#child.send('life');
    return ((await answer) as [Life])[0];
  }

  async request(
    path: string,
    { method = 'GET', body, type = 'application/json' }: { method?: string; body?: object; type?: string } = {},
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Enables or disables a plugin, and waits until it is there. */
  async turn(plugin: string, enabled: boolean): Promise<void> {
    const path = `/apis/plugin.svc.run/v1alpha1/plugins/${plugin}`;
    await this.until(path, (status) => status === 200);
    await this.request(path, { method: 'PATCH', body: { spec: { enabled } }, type: 'application/merge-patch+json' });
    const wanted = enabled ? 'Started' : 'Disabled';
    await this.until(path, (_, body) => (body['status'] as { phase?: string } | undefined)?.phase === wanted);
  }

  async until(path: string, holds: (status: number, body: Record<string, unknown>) => boolean): Promise<void> {
    const deadline = Date.now() + waitMs;
    for (;;) {
      const { status, body } = await this.request(path);
      if (holds(status, body)) return;
      if (Date.now() > deadline) throw new Error(`${path} is still ${JSON.stringify(body['status'] ?? body)}`);
      await delay(5);
    }
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }
}
