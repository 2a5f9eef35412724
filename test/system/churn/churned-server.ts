import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiServer, type ApiServerRequest } from '../harness/process/api-server.ts';
import { retryUntilTrue } from '../harness/retry-until-true.ts';

const waitMs = 60_000;

/** Objects in the server's process; see life-meter.mjs. */
interface ProcessObjects {
  heapBytes: number;
  residentBytes: number;
  timers: number;
  portsOfWorkers: number;
  workers: number;
  watchers: number;
  connections: number;
  resources: number;
  descriptors: number;
  threads: number;
  listenersOfProcess: number;
}

/** What the server holds. */
export interface ServerCounts extends ProcessObjects {
  /** In the folder of bundles. */
  files: number;
}

/** Allowed growth of the heap: the noise of a collected one. Bytes of each round, and once. */
const allowedHeap = { each: 512, once: 8_000_000 };
/** Allowed growth of any count: one idle connection more is not a leak. */
const allowedCount = 4;

/** By how much a server may grow over so many starts and stops. */
export function allowedInServer(rounds: number): Record<string, number> {
  const counts = {
    timers: allowedCount,
    portsOfWorkers: allowedCount,
    workers: allowedCount,
    watchers: allowedCount,
    connections: allowedCount,
    resources: allowedCount,
    descriptors: allowedCount,
    threads: allowedCount,
    listenersOfProcess: allowedCount,
    files: allowedCount,
  };
  return { heapBytes: allowedHeap.once + rounds * allowedHeap.each, ...counts };
}

type Json = Record<string, unknown>;

/** The built `svc serve`, with its own database and folder of plugins. */
export class ChurnedServer {
  readonly #api: ApiServer;

  /** `folder` contains `plugins`. */
  static async start(folder: string, args: readonly string[] = []): Promise<ChurnedServer> {
    const api = await ApiServer.start({
      command: 'serve',
      dataDir: join(folder, 'data'),
      args: [`--svc.plugins.dir=${join(folder, 'plugins')}`, '--svc.log.level=warn', ...args],
      preload: new URL('life-meter.mjs', import.meta.url),
    });
    return new ChurnedServer(api);
  }

  private constructor(api: ApiServer) {
    this.#api = api;
  }

  get url(): string {
    return this.#api.url;
  }

  adminPassword(): Promise<string> {
    return this.#api.adminPassword();
  }

  /** Resolves once the last start or stop is complete. */
  async life(): Promise<ServerCounts> {
    const objects = await this.#api.process.ask<ProcessObjects>('life');
    const bundles = await readdir(join(this.#api.dataDir, 'plugin-bundles'), { recursive: true });
    return { ...objects, files: bundles.length };
  }

  /** Enables or disables a plugin, and waits for the result. */
  async turn(plugin: string, enabled: boolean): Promise<void> {
    const path = `/apis/plugin.svc.run/v1alpha1/plugins/${plugin}`;
    await this.until(path, (status) => status === 200);
    await this.#request(path, {
      method: 'PATCH',
      body: JSON.stringify({ spec: { enabled } }),
      headers: { 'Content-Type': 'application/merge-patch+json' },
    });
    const wanted = enabled ? 'Started' : 'Disabled';
    await this.until(path, (_, body) => (body['status'] as { phase?: string } | undefined)?.phase === wanted);
  }

  async until(path: string, holds: (status: number, body: Json) => boolean): Promise<void> {
    let last: Json = {};
    await retryUntilTrue(
      async () => {
        const { status, body } = await this.#request(path);
        last = body;
        return holds(status, body);
      },
      { what: path, timeoutMs: waitMs, intervalMs: 5 },
    ).catch((error: unknown) => {
      throw new Error(`${path} is still ${JSON.stringify(last['status'] ?? last)}`, { cause: error });
    });
  }

  stop(): Promise<void> {
    return this.#api.stop();
  }

  async #request(path: string, request?: ApiServerRequest): Promise<{ status: number; body: Json }> {
    const { status, text } = await this.#api.request(path, request);
    return { status, body: text.startsWith('{') ? (JSON.parse(text) as Json) : {} };
  }
}
