import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiServer } from '../harness/process/api-server.ts';

/** Work after the response, such as notifying watchers, counts too. Milliseconds. */
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

/** The built `svc serve` on its embedded PostgreSQL, with a meter of event loop turns. */
export class MeasuredServer {
  /** The longest hold of the start, without loading modules. */
  readonly startHold: Hold;
  readonly #api: ApiServer;

  private constructor(api: ApiServer, startHold: Hold) {
    this.#api = api;
    this.startHold = startHold;
  }

  /** With a new folder in `parent`, or the data of a server that was stopped with `keep`. */
  static async start(parent: string, kept?: string): Promise<MeasuredServer> {
    const dataDir = kept ?? (await mkdtemp(join(parent, 'svc-holds-')));
    // PostgreSQL may run as another user.
    await chmod(dataDir, 0o755);
    const api = await ApiServer.start({
      command: 'serve',
      dataDir,
      preload: new URL('../harness/process/turn-meter.mjs', import.meta.url),
      beforeReady: async (process, url) => {
        await process.ready(`${url}/livez`);
        await process.ask('begin');
      },
    });
    return new MeasuredServer(api, await api.process.ask('end'));
  }

  get pid(): number {
    return this.#api.pid;
  }

  request({ path, ...request }: MeasuredRequest): Promise<Answer> {
    return this.#api.request(path, request);
  }

  /** Sends a request that must succeed. */
  expect({ path, ...request }: MeasuredRequest): Promise<string> {
    return this.#api.fetch(path, request);
  }

  /** Opens a watch and reads it until it is aborted. */
  async watch(path: string, signal: AbortSignal): Promise<void> {
    const headers = { Authorization: `Bearer ${this.#api.token}` };
    const response = await fetch(`${this.#api.url}${path}`, { headers, signal });
    const read = async (): Promise<void> => {
      for await (const _ of response.body ?? []);
    };
    // It ends by an abort.
    read().catch(() => undefined);
  }

  /** Runs `work` and returns the longest hold until `afterMs` after it. */
  async measure<T>(work: () => Promise<T>, afterMs = aftermathMs): Promise<{ result: T; hold: Hold }> {
    await this.#api.process.ask('begin');
    const result = await work();
    if (afterMs > 0) await delay(afterMs);
    return { result, hold: await this.#api.process.ask('end') };
  }

  /** Returns the data folder, which is removed unless `keep` is set. */
  async stop({ keep = false }: { keep?: boolean } = {}): Promise<string> {
    await this.#api.stop();
    if (!keep) await rm(this.#api.dataDir, { recursive: true, force: true });
    return this.#api.dataDir;
  }
}
