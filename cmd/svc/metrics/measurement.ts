import type { Logger } from 'pino';

/** Kept so long, so that one scrape asks once, and many scrapers ask no more than one. Milliseconds. */
const KEEP_MS = 1000;
/** A scrape must not hang on what it cannot learn. */
const TIMEOUT_MS = 2000;

/** What has to be asked for, and may not be known: several metrics of one scrape share one question. */
export class Measurement<T> {
  private readonly measure: () => Promise<T>;
  private readonly log: Logger;
  private last: { at: number; result: Promise<T | undefined> } | undefined;

  constructor(measure: () => Promise<T>, log: Logger) {
    this.measure = measure;
    this.log = log;
  }

  /** Undefined where there was no answer in two seconds. Never rejects. */
  take(): Promise<T | undefined> {
    const now = performance.now();
    if (this.last === undefined || now - this.last.at > KEEP_MS) this.last = { at: now, result: this.ask() };
    return this.last.result;
  }

  private async ask(): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), TIMEOUT_MS);
    });
    const asked = this.measure().catch((error: unknown) => {
      this.log.debug({ err: error }, 'the database could not be measured');
      return undefined;
    });
    const result = await Promise.race([asked, late]);
    clearTimeout(timer);
    return result;
  }
}
