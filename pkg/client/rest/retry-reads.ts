import { abortError, isStatusError, pause } from '#pkg/apimachinery/index';

const maxRetries = 3;
/** If the server asks for a longer wait, the call fails immediately. */
const maxWaitSeconds = 30;

/** A transient refusal with the time of the retry. */
export class TryAgainError extends Error {
  readonly failure: Error;
  readonly afterSeconds: number;

  constructor(failure: Error, afterSeconds: number) {
    super(failure.message);
    this.failure = failure;
    this.afterSeconds = afterSeconds;
  }
}

/** Whether the failure is transient. */
export function isTransientFailure(error: unknown): error is Error {
  return isStatusError(error) && (error.code === 429 || error.code === 503);
}

/** Retries a read as the server asks, up to three times. @throws the last failure, or the signal's reason */
export async function retryReads<T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof TryAgainError)) throw error;
      if (tries === maxRetries || error.afterSeconds > maxWaitSeconds) throw error.failure;
      // Never all at once: others were sent away at the same time.
      await pause(error.afterSeconds * 1000 + Math.random() * 250, signal);
      if (signal.aborted) throw abortError(signal);
    }
  }
}
