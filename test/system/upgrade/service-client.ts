import { addAbortSignal } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ApiClient, type ApiRequest } from '../harness/client/api-client.ts';
import { LineSplitter } from '../harness/process/line-splitter.ts';

const timeoutMs = 30_000;
/** One for all, because a client keeps its connections. */
const connections = new ApiClient({ timeoutMs, maxConnections: 64 });

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly body: Json;
}

/** Sends JSON to one service with one credential or none. */
export class ServiceClient {
  readonly #service: Pick<ApiRequest, 'host' | 'port'>;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, authorization?: string) {
    const { hostname: host, port } = new URL(url);
    this.#service = { host, port: Number(port) };
    this.#headers = authorization === undefined ? {} : { authorization };
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const answer = await connections.request({
      ...this.#service,
      method,
      path,
      headers: { ...this.#headers, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      body: answer.text.startsWith('{') ? (JSON.parse(answer.text) as Json) : { text: answer.text },
    };
  }

  /** The same, but throws unless it succeeds. */
  async expect(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Json> {
    const { status, body: answer } = await this.send(method, path, body, headers);
    if (status >= 300) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(answer).slice(0, 500)}`);
    return answer;
  }

  get(path: string): Promise<Json> {
    return this.expect('GET', path);
  }

  post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Json> {
    return this.expect('POST', path, body, headers);
  }

  /**
   * The events of a watch, until `enough` returns true or the server ends it; `enough` may remove what it has handled.
   * Rejects after 30 s, and with the signal.
   */
  async watch(path: string, enough: (events: WatchEvent[]) => boolean, signal?: AbortSignal): Promise<WatchEvent[]> {
    const answer = await connections.open({ ...this.#service, path, headers: this.#headers });
    addAbortSignal(
      AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
      answer,
    );
    if (answer.statusCode !== 200)
      throw new Error(`the watch ${path} answered ${answer.statusCode}: ${await text(answer)}`);
    const events: WatchEvent[] = [];
    const lines = new LineSplitter();
    for await (const chunk of answer) {
      const complete = lines.take(chunk as Buffer).filter((line) => line !== '');
      events.push(...complete.map((line) => JSON.parse(line) as WatchEvent));
      if (enough(events)) break;
    }
    return events;
  }
}

export interface WatchEvent {
  readonly type: string;
  readonly object: ApiObject;
}

export interface ApiObject extends Json {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
  };
}

export function revisionOf({ metadata }: ApiObject): string {
  return metadata.resourceVersion;
}
