import { abortError, isStatusError, pause } from '#pkg/apimachinery/index';

const maxRetries = 3;
/** Who is told to wait longer is not kept waiting. */
const longestWaitSeconds = 30;

/** What a server says about coming again. Source: RFC 9110, 10.2.3; a date counts as well. */
export function retryAfterSeconds(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

/** A refusal for now, and when to come again. */
export class TryAgainError extends Error {
  readonly failure: Error;
  readonly afterSeconds: number;

  constructor(failure: Error, afterSeconds: number) {
    super(failure.message);
    this.failure = failure;
    this.afterSeconds = afterSeconds;
  }
}

/** Is this a failure that goes away? */
export function isForNow(error: unknown): error is Error {
  return isStatusError(error) && (error.code === 429 || error.code === 503);
}

/**
 * Reads as often as the server asks to come again, up to three times more. @throws what the last try said, or the
 * signal's reason
 */
export async function retryReads<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof TryAgainError)) throw error;
      if (tries === maxRetries || error.afterSeconds > longestWaitSeconds) throw error.failure;
      // Never all at once: others were sent away at the same time.
      await pause(error.afterSeconds * 1000 + Math.random() * 250, signal);
      if (signal.aborted) throw abortError(signal);
    }
  }
}
