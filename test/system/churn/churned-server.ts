import { join } from 'node:path';
import { ApiServer, type ApiServerRequest } from '../harness/process/api-server.ts';
import { retryUntilTrue } from '../harness/retry-until-true.ts';

const waitMs = 60_000;

/** Objects in the server's process; see life-meter.mjs. */
export interface ProcessObjects {
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

type Json = Record<string, unknown>;

/** The built `svc serve`, with its own database and folder of plugins. */
export class ChurnedServer {
  readonly #api: ApiServer;

  /** `folder` contains `plugins`. */
  static async start(folder: string): Promise<ChurnedServer> {
    const api = await ApiServer.start({
      command: 'serve',
      dataDir: join(folder, 'data'),
      args: [`--svc.plugins.dir=${join(folder, 'plugins')}`, '--svc.log.level=warn'],
      preload: new URL('life-meter.mjs', import.meta.url),
    });
    return new ChurnedServer(api);
  }

  private constructor(api: ApiServer) {
    this.#api = api;
  }

  /** Resolves once the last stop is complete. */
  life(): Promise<ProcessObjects> {
    return this.#api.process.ask('life');
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
