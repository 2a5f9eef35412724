import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { MatrixRequest, ServerName } from './matrix-request.ts';

export interface MatrixAnswer {
  readonly status: number;
  readonly text: string;
}

const timeoutMs = 60_000;
/** Attempts after a 503, which is no decision. */
const attempts = 20;
const pauseMs = 500;

/** Sends requests unchanged over keep-alive connections. */
export class MatrixClient {
  readonly origins: Readonly<Record<ServerName, string>>;
  readonly #agent: Agent;

  constructor(origins: Readonly<Record<ServerName, string>>, concurrency: number) {
    this.origins = origins;
    this.#agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  }

  /** With `isStream` returns after the head. Retries a 503 and a closed connection. */
  async send(request: MatrixRequest, isStream = false): Promise<MatrixAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await this.#exchange(request, isStream);
        if (answer.status !== 503 || attempt === attempts) return answer;
      } catch (error) {
        if ((error as { code?: string }).code !== 'ECONNRESET' || attempt === attempts) throw error;
      }
      await delay(pauseMs);
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  #exchange({ server, method, target, headers, body }: MatrixRequest, isStream: boolean): Promise<MatrixAnswer> {
    const { hostname, port } = new URL(this.origins[server]);
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      const sent = httpRequest({
        hostname,
        port,
        method,
        path: target,
        headers: { ...(headers as Record<string, string | string[]>), ...length },
        agent: this.#agent,
        timeout: timeoutMs,
      });
      sent.on('timeout', () => sent.destroy(new Error(`no answer to ${method} ${target} within ${timeoutMs} ms`)));
      sent.on('error', reject);
      sent.on('response', (answer) => {
        if (isStream && answer.statusCode === 200) {
          resolve({ status: 200, text: '' });
          answer.on('error', () => undefined);
          sent.destroy();
          return;
        }
        read(answer).then((text) => resolve({ status: answer.statusCode!, text }), reject);
      });
      sent.end(body);
    });
  }
}

async function read(answer: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString();
}
