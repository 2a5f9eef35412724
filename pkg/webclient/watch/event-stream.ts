import {
  readClientEvent,
  StatusError,
  type AnyObject,
  type ClientEvent,
  type EventStream,
} from '#pkg/apimachinery/index';
import { onWake } from '../on-wake.ts';

/** Longest line, in characters. */
const maxLineLength = 64 * 1024 * 1024;

type Body = ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>;

/** The events of one watch over `fetch`, for one reader. Does not read ahead of it. */
export class FetchEventStream<T extends AnyObject> implements EventStream<T> {
  readonly #body: Body;
  readonly #limit: AbortController;
  readonly #maxSilenceMs: number;
  #wasSilent = false;

  /** `limit` ends the request of `body`; so does a silence of `maxSilenceMs`, also of a body that is still to come. */
  constructor(body: Body, limit: AbortController, maxSilenceMs: number) {
    this.#body = body;
    this.#limit = limit;
    this.#maxSilenceMs = maxSilenceMs;
  }

  /** Did it end because nothing came, not even a heartbeat? */
  get wasSilent(): boolean {
    return this.#wasSilent;
  }

  close(): void {
    this.#limit.abort();
  }

  #endSilence(): void {
    this.#wasSilent = true;
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ClientEvent<T>> {
    for await (const batch of this.batches()) yield* batch;
  }

  /** The events in batches as they arrive; an empty batch is a sign of life. */
  batches(): AsyncGenerator<ClientEvent<T>[]> {
    return this.lines((line) => readClientEvent<T>(line));
  }

  /** The same of lines that `read` reads; an unterminated last line is left out. */
  async *lines<Line>(read: (line: string) => Line): AsyncGenerator<Line[]> {
    const decoder = new TextDecoder();
    let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
    const next = async (): ReturnType<NonNullable<typeof reader>['read']> => {
      reader ??= (await this.#body).getReader();
      return reader.read();
    };
    let begun = '';
    let lastSign = Date.now();
    // The timer of the silence slept with the page.
    onWake(() => {
      if (Date.now() - lastSign > this.#maxSilenceMs / 2) this.#endSilence();
    }, this.#limit.signal);
    try {
      for (;;) {
        lastSign = Date.now();
        const silence = setTimeout(() => this.#endSilence(), this.#maxSilenceMs);
        const { done, value } = await next().finally(() => clearTimeout(silence));
        if (done || this.#limit.signal.aborted) return;
        const lines = (begun + decoder.decode(value, { stream: true })).split('\n');
        begun = lines.pop()!;
        if (begun.length > maxLineLength)
          throw new StatusError(500, 'InternalError', 'the server sent a line that is too long');
        yield lines.filter((line) => line !== '').map(read);
      }
    } catch (error) {
      // A broken connection is an end: the reader watches again from the last revision.
      if (error instanceof StatusError) throw error;
    } finally {
      this.close();
      await reader?.cancel().catch(() => undefined);
    }
  }
}
