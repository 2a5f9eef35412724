import { setTimeout as delay } from 'node:timers/promises';
import { ApiClient, NoAnswer, type ApiAnswer } from '../../harness/client/api-client.ts';
import type { MatrixRequest, ServerName } from './matrix-request.ts';

export type MatrixAnswer = Pick<ApiAnswer, 'status' | 'text'>;

const timeoutMs = 60_000;
/** Attempts after a 503, which is no decision. */
const attempts = 20;
const pauseMs = 500;

/** Sends requests to the servers unchanged over keep-alive connections. */
export class MatrixClient {
  readonly origins: Readonly<Record<ServerName, string>>;
  readonly #api: ApiClient;

  constructor(origins: Readonly<Record<ServerName, string>>, concurrency: number) {
    this.origins = origins;
    this.#api = new ApiClient({ timeoutMs, maxConnections: concurrency });
  }

  /** With `isStream` returns after the head. Retries a 503 and a closed connection. */
  async send(request: MatrixRequest, isStream = false): Promise<MatrixAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await this.#exchange(request, isStream);
        if (answer.status !== 503 || attempt === attempts) return answer;
      } catch (error) {
        if (!(error instanceof NoAnswer) || error.code !== 'ECONNRESET' || attempt === attempts) throw error;
      }
      await delay(pauseMs);
    }
  }

  close(): void {
    this.#api.close();
  }

  async #exchange({ server, target, ...request }: MatrixRequest, isStream: boolean): Promise<MatrixAnswer> {
    const { hostname: host, port } = new URL(this.origins[server]);
    const sent = { ...request, host, port: Number(port), path: target };
    return isStream ? this.#api.head(sent) : this.#api.request(sent);
  }
}
