import type { Logger } from 'pino';
import type { ScrapeToken } from '#pkg/http/index';
import { readOptionFile } from './read-option-file.ts';
import { OperatorError } from '../options/operator-error.ts';
import { accessToken } from '../options/option-types.ts';
import type { Options } from '../options/option-table.ts';

const maxFileBytes = 4096;
/** A file is read again when a scrape comes this long after the last read. */
const maxAgeMs = 5000;

/**
 * The token of `svc.metrics.token` or `svc.metrics.token-file`; undefined without both. A file that can no longer be
 * read, or holds no token, is logged once, and the token before stays valid.
 * @throws OperatorError that names the option
 */
export async function openScrapeToken(options: Options, log: Logger): Promise<ScrapeToken | undefined> {
  const token = options['svc.metrics.token'];
  const file = options['svc.metrics.token-file'];
  if (token !== undefined && file !== undefined)
    throw new OperatorError('svc.metrics.token and svc.metrics.token-file are both set; remove one.');
  if (token !== undefined) return () => Promise.resolve(token);
  if (file === undefined) return undefined;
  return new ScrapeTokenFile(file, await readToken(file), log).read;
}

class ScrapeTokenFile {
  readonly #file: string;
  readonly #log: Logger;
  #token: string;
  #readAt = performance.now();
  #reading: Promise<void> | undefined;
  /** The last logged reason of a failed read. */
  #complaint: string | undefined;

  constructor(file: string, token: string, log: Logger) {
    this.#file = file;
    this.#token = token;
    this.#log = log;
  }

  /** Concurrent scrapes share one read of the file. */
  readonly read: ScrapeToken = async () => {
    if (performance.now() - this.#readAt >= maxAgeMs)
      await (this.#reading ??= this.#reload().finally(() => {
        this.#reading = undefined;
      }));
    return this.#token;
  };

  async #reload(): Promise<void> {
    try {
      this.#token = await readToken(this.#file);
      this.#complaint = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#complaint) this.#log.error({ file: this.#file, reason: message }, 'kept the scrape token');
      this.#complaint = message;
    }
    this.#readAt = performance.now();
  }
}

async function readToken(file: string): Promise<string> {
  const text = await readOptionFile('svc.metrics.token-file', file, maxFileBytes);
  const token = text === undefined ? undefined : accessToken.parse(text.trim());
  if (token === undefined)
    throw new OperatorError(`svc.metrics.token-file holds no token: ${file} must hold ${accessToken.expected}.`);
  return token;
}
