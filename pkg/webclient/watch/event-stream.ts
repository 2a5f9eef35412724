import {
  readClientEvent,
  StatusError,
  type AnyObject,
  type ClientEvent,
  type EventStream,
} from '#pkg/apimachinery/index';
import { onWake } from '../on-wake.ts';
import { readLines } from './read-lines.ts';

/** The events of one watch over `fetch`, for one reader. */
export class FetchEventStream<T extends AnyObject> implements EventStream<T> {
  readonly #body: Parameters<typeof readLines>[0];
  readonly #limit: AbortController;
  readonly #maxSilenceMs: number;
  #wasSilent = false;

  /** `limit` ends the request of `body`; so does a silence of `maxSilenceMs`, also of a body that is still to come. */
  constructor(body: Parameters<typeof readLines>[0], limit: AbortController, maxSilenceMs: number) {
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

  /** The same of lines that `read` reads. */
  async *lines<Line>(read: (line: string) => Line): AsyncGenerator<Line[]> {
    const lines = readLines(this.#body);
    let lastSign = Date.now();
    // The timer of the silence slept with the page.
    onWake(() => {
      if (Date.now() - lastSign > this.#maxSilenceMs / 2) this.#endSilence();
    }, this.#limit.signal);
    try {
      for (;;) {
        lastSign = Date.now();
        const silence = setTimeout(() => this.#endSilence(), this.#maxSilenceMs);
        const next = await lines.next().finally(() => clearTimeout(silence));
        if (next.done === true || this.#limit.signal.aborted) return;
        yield next.value.map(read);
      }
    } catch (error) {
      // A broken connection is an end: the reader watches again from the last revision.
      if (error instanceof StatusError) throw error;
    } finally {
      this.close();
      await lines.return(undefined);
    }
  }
}
