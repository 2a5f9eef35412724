import type { TestEnv } from '../start-test-env.ts';
import type { ApiBody } from './api-call.ts';

export interface SeenEvent {
  type: string;
  object: ApiBody;
  /** The id of the SSE frame. */
  id?: string;
}

export interface SseFrame {
  id?: string;
  event?: string;
  data?: string;
}

export interface WatchStreamOptions {
  server?: number;
  headers?: Record<string, string>;
  sse?: boolean;
}

/** Records everything that a watch sends, using only fetch. */
export class RecordedWatch {
  readonly events: SeenEvent[] = [];
  readonly frames: SseFrame[] = [];
  response!: Response;
  /** Everything read so far. */
  raw = '';
  ended = false;
  /** Why the stream broke; undefined if it ended normally. */
  failure: unknown;
  #rest = '';
  readonly #abort = new AbortController();
  readonly #listeners = new Set<() => void>();

  private constructor() {
    // Opened by `open`, which can await the headers.
  }

  static async open(
    env: TestEnv,
    path: string,
    { server = 0, headers = {}, sse = false }: WatchStreamOptions = {},
  ): Promise<RecordedWatch> {
    const stream = new RecordedWatch();
    const url = `${path}${path.includes('?') ? '&' : '?'}watch=true`;
    const accept = sse ? { accept: 'text/event-stream' } : {};
    stream.response = await env.request(url, {
      server,
      headers: { ...accept, ...headers },
      signal: stream.#abort.signal,
    });
    if (stream.response.status !== 200)
      throw new Error(`watch ${url}: ${stream.response.status} ${await stream.response.text()}`);
    void stream.#read(sse);
    return stream;
  }

  /** `TYPE name` of every event except bookmarks. */
  get story(): string[] {
    return this.changes.map(({ type, object }) => `${type} ${object.metadata?.name ?? object.reason}`);
  }

  get changes(): SeenEvent[] {
    return this.events.filter(({ type }) => type !== 'BOOKMARK');
  }

  get bookmarks(): SeenEvent[] {
    return this.events.filter(({ type }) => type === 'BOOKMARK');
  }

  /** Resolves when the condition holds; checks after every read, and at the end. */
  async until(condition: (stream: this) => boolean, timeoutMs = 60_000): Promise<this> {
    if (condition(this)) return this;
    await new Promise<void>((resolve, reject) => {
      const check = (): void => {
        if (!condition(this)) return;
        this.#listeners.delete(check);
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#listeners.delete(check);
        reject(
          new Error(
            `the watch did not come there; story: ${this.story.slice(-20).join(', ')}; ended: ${this.ended}; raw: ${this.raw.slice(-300)}`,
          ),
        );
      }, timeoutMs);
      this.#listeners.add(check);
    });
    return this;
  }

  async untilEnd(timeoutMs?: number): Promise<this> {
    return this.until(({ ended }) => ended, timeoutMs);
  }

  /** Waits for this many events, without bookmarks. */
  async untilCount(count: number, timeoutMs?: number): Promise<this> {
    return this.until(({ changes }) => changes.length >= count, timeoutMs);
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(sse: boolean): Promise<void> {
    try {
      for await (const chunk of this.response.body!.pipeThrough(new TextDecoderStream())) this.#take(chunk, sse);
    } catch (error) {
      if (!this.#abort.signal.aborted) this.failure = error;
    }
    this.ended = true;
    this.#tell();
  }

  #take(text: string, sse: boolean): void {
    this.raw += text;
    const separator = sse ? '\n\n' : '\n';
    const parts = `${this.#rest}${text}`.split(separator);
    this.#rest = parts.pop()!;
    for (const part of parts) this.#takePart(part, sse);
    this.#tell();
  }

  #takePart(part: string, sse: boolean): void {
    if (!sse) {
      if (part !== '') this.events.push(JSON.parse(part) as SeenEvent);
      return;
    }
    const frame = sseFrame(part);
    if (frame === undefined) return;
    this.frames.push(frame);
    if (frame.data !== undefined)
      this.events.push({
        ...(JSON.parse(frame.data) as SeenEvent),
        ...(frame.id === undefined ? {} : { id: frame.id }),
      });
  }

  #tell(): void {
    this.#listeners.forEach((listener) => listener());
  }
}

/** Parses a frame as the EventSource specification says; undefined for comments and empty lines only. */
function sseFrame(text: string): SseFrame | undefined {
  const frame: SseFrame = {};
  for (const line of text.split('\n')) {
    const [, field, value] = /^([^:]+)(?::\s?(.*))?$/.exec(line) ?? [];
    if (field === 'id') frame.id = value ?? '';
    if (field === 'event') frame.event = value ?? '';
    if (field === 'data') frame.data = frame.data === undefined ? (value ?? '') : `${frame.data}\n${value ?? ''}`;
  }
  return Object.keys(frame).length === 0 ? undefined : frame;
}

/** resourceVersion of an event's object, as a comparable number. */
export function eventRevision({ object }: SeenEvent): bigint {
  return BigInt(object.metadata.resourceVersion);
}
