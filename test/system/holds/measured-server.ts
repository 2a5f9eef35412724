import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../harness/free-port.ts';

const program = fileURLToPath(new URL('../../../dist/cmd/svc/main.js', import.meta.url));
const meter = new URL('turn-meter.mjs', import.meta.url).href;
const startTimeoutMs = 120_000;
const stopTimeoutMs = 60_000;
/** What an answer leaves to be done, such as telling watchers, belongs to its request. */
const aftermathMs = 250;

/** The longest turn of the event loop, in processor time of its thread and by the clock. */
export interface Hold {
  cpuMs: number;
  wallMs: number;
}

export interface MeasuredRequest {
  method: string;
  path: string;
  body?: string | Buffer;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  text: string;
}

/** The built `svc serve` on its embedded PostgreSQL, with a meter of its turns in it. */
export class MeasuredServer {
  /** Of the start itself, the loading of modules left out. */
  readonly startHold: Hold;
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #token: string;
  readonly #dataDir: string;

  private constructor({
    child,
    url,
    token,
    dataDir,
    startHold,
  }: {
    child: ChildProcess;
    url: string;
    token: string;
    dataDir: string;
    startHold: Hold;
  }) {
    this.startHold = startHold;
    this.#child = child;
    this.#url = url;
    this.#token = token;
    this.#dataDir = dataDir;
  }

  /** In a new folder in `parent`, or with the data of one that was stopped with `keep`. */
  static async start(parent: string, kept?: string): Promise<MeasuredServer> {
    const dataDir = kept ?? (await mkdtemp(join(parent, 'svc-holds-')));
    // PostgreSQL may run as another user than we.
    await chmod(dataDir, 0o755);
    const url = `http://127.0.0.1:${await freePort()}`;
    const log = openSync(join(dataDir, 'server.log'), 'a');
    const args = [
      '--import',
      meter,
      program,
      'serve',
      `--svc.server.port=${new URL(url).port}`,
      `--svc.data.dir=${dataDir}`,
    ];
    const child = spawn(process.execPath, args, {
      cwd: dataDir,
      env: { SVC_ACCESS_PORT: '0', SVC_SERVER_TLS_PORT: '0', SVC_ACCESS_TLS_PORT: '0' },
      stdio: ['ignore', log, log, 'ipc'],
    });
    try {
      await untilReady(child, url, dataDir, '/livez');
      await tell(child, 'begin');
      await untilReady(child, url, dataDir);
      const startHold = await tell(child, 'end');
      return new MeasuredServer({
        child,
        url,
        dataDir,
        startHold,
        token: (await readFile(join(dataDir, 'admin-token'), 'utf8')).trim(),
      });
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    }
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async request({ method, path, body, headers }: MeasuredRequest): Promise<Answer> {
    const all = { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/json', ...headers };
    const response = await fetch(`${this.#url}${path}`, {
      method,
      headers: all,
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, text: await response.text() };
  }

  /** A request that must succeed. */
  async expect(request: MeasuredRequest): Promise<string> {
    const { status, text } = await this.request(request);
    if (status >= 300) throw new Error(`${request.method} ${request.path}: ${status} ${text.slice(0, 500)}`);
    return text;
  }

  /** A watch that is open and read until it is aborted. */
  async watch(path: string, signal: AbortSignal): Promise<void> {
    const response = await fetch(`${this.#url}${path}`, {
      headers: { Authorization: `Bearer ${this.#token}` },
      signal,
    });
    const read = async (): Promise<void> => {
      for await (const _ of response.body ?? []);
    };
    // Aborted, which is how it ends.
    read().catch(() => undefined);
  }

  /** Does `work` and tells the longest hold meanwhile, and in the milliseconds after. */
  async measure<T>(work: () => Promise<T>, afterMs = aftermathMs): Promise<{ result: T; hold: Hold }> {
    await tell(this.#child, 'begin');
    const result = await work();
    if (afterMs > 0) await delay(afterMs);
    return { result, hold: await tell(this.#child, 'end') };
  }

  /** Answers the data folder, which is removed unless it is to be kept. */
  async stop({ keep = false }: { keep?: boolean } = {}): Promise<string> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const late = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
      await ended;
      clearTimeout(late);
    }
    if (!keep) await rm(this.#dataDir, { recursive: true, force: true });
    return this.#dataDir;
  }
}

/** Begins or ends a measurement; the answer to the end is the longest hold. */
async function tell(child: ChildProcess, message: 'begin' | 'end'): Promise<Hold> {
  const answer = once(child, 'message');
  child.send(message);
  const [hold] = (await answer) as [Hold];
  return hold;
}

async function untilReady(child: ChildProcess, url: string, dataDir: string, path = '/readyz'): Promise<void> {
  const deadline = Date.now() + startTimeoutMs;
  for (;;) {
    const answer = await fetch(`${url}${path}`).catch(() => undefined);
    if (answer?.ok === true) return;
    if (child.exitCode !== null || Date.now() > deadline)
      throw new Error(`the server did not start:\n${await readFile(join(dataDir, 'server.log'), 'utf8')}`);
    await delay(10);
  }
}
