const TIMEOUT_MS = 30_000;

export type Json = Record<string, unknown>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Json;
}

/** A client of one service with one credential or none. */
export class ServiceClient {
  readonly url: string;
  readonly #headers: Readonly<Record<string, string>>;

  constructor(url: string, authorization?: string) {
    this.url = url;
    this.#headers = authorization === undefined ? {} : { authorization };
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: { ...this.#headers, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      body: text.startsWith('{') ? (JSON.parse(text) as Json) : { text },
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
    const answer = await fetch(`${this.url}${path}`, {
      headers: this.#headers,
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]),
    });
    if (!answer.ok || answer.body === null) throw new Error(`the watch ${path} answered ${answer.status}`);
    const events: WatchEvent[] = [];
    let rest = '';
    for await (const chunk of answer.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      events.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line) as WatchEvent));
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
