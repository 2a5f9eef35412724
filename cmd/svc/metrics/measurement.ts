import type { Logger } from 'pino';
import { untilAborted, withinTime } from '#pkg/apimachinery/index';

/** How long a value is cached, so that one scrape, or several scrapers, cause one query. Milliseconds. */
const cacheMs = 1000;
/** Timeout of a query, so that it never blocks a scrape. Milliseconds. */
const timeoutMs = 2000;

/** A value that must be queried and may be unknown. Several metrics of one scrape share one query. */
export class Measurement<T> {
  readonly #measure: () => Promise<T>;
  readonly #log: Logger;
  #last: { at: number; result: Promise<T | undefined> } | undefined;

  constructor(measure: () => Promise<T>, log: Logger) {
    this.#measure = measure;
    this.#log = log;
  }

  /** Undefined without an answer within two seconds. Never rejects. */
  take(): Promise<T | undefined> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at > cacheMs) this.#last = { at: now, result: this.#ask() };
    return this.#last.result;
  }

  async #ask(): Promise<T | undefined> {
    try {
      return await withinTime({ timeoutMs }, (limit) => untilAborted(this.#measure(), limit));
    } catch (error) {
      this.#log.debug({ err: error }, 'could not measure the database');
      return undefined;
    }
  }
}
