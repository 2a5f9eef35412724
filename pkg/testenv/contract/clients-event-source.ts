import { pause } from '#pkg/apimachinery/index';
export interface SourceMessage {
  data: string;
  lastEventId: string;
}

/**
 * Behaves like a browser's EventSource towards a server: reconnects after every end with the last id, and records the
 * events. Source: WHATWG HTML, 9.2 Server-sent events.
 */
export class FetchEventSource {
  readonly messages: SourceMessage[] = [];
  /** Connections opened so far. */
  connections = 0;
  /** Not an event stream: a browser gives up. */
  failed = false;
  #lastEventId = '';
  #data: string[] = [];
  #pendingId: string | undefined;
  #rest = '';
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();
  readonly done: Promise<void>;

  constructor(url: string, token: string) {
    this.done = this.#run(url, token);
  }

  async until(condition: (source: this) => boolean, timeoutMs = 10_000): Promise<void> {
    if (condition(this)) return;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () =>
          reject(
            new Error(`${this.messages.length} messages, ${this.connections} connections, failed: ${this.failed}`),
          ),
        timeoutMs,
      );
      const check = (): void => {
        if (!condition(this)) return;
        this.#listeners.delete(check);
        clearTimeout(timer);
        resolve();
      };
      this.#listeners.add(check);
    });
  }

  async close(): Promise<void> {
    this.#abort.abort();
    await this.done;
  }

  async #run(url: string, token: string): Promise<void> {
    while (!this.#abort.signal.aborted && !this.failed) {
      try {
        await this.#connect(url, token);
      } catch {
        // As in a browser: a network error causes a reconnect.
      }
      // What was not ended by an empty line is thrown away with its connection.
      this.#rest = '';
      this.#data = [];
      this.#pendingId = undefined;
      await pause(5);
    }
  }

  async #connect(url: string, token: string): Promise<void> {
    const headers = {
      accept: 'text/event-stream',
      'cache-control': 'no-store',
      authorization: `Bearer ${token}`,
      ...(this.#lastEventId === '' ? {} : { 'last-event-id': this.#lastEventId }),
    };
    const response = await fetch(url, { headers, signal: this.#abort.signal });
    this.connections += 1;
    this.#listeners.forEach((listener) => listener());
    if (response.status !== 200 || !/^text\/event-stream\b/.test(response.headers.get('content-type') ?? '')) {
      this.failed = true;
      return;
    }
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) this.#take(chunk);
  }

  #take(text: string): void {
    const lines = `${this.#rest}${text}`.split(/\r\n|\n|\r/);
    this.#rest = lines.pop()!;
    for (const line of lines) this.#takeLine(line);
    this.#listeners.forEach((listener) => listener());
  }

  #takeLine(line: string): void {
    if (line === '') {
      if (this.#pendingId !== undefined) this.#lastEventId = this.#pendingId;
      if (this.#data.length > 0) this.messages.push({ data: this.#data.join('\n'), lastEventId: this.#lastEventId });
      this.#data = [];
      return;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    if (field === 'id' && !value.includes('\0')) this.#pendingId = value;
  }
}
