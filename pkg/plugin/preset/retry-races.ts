import { abortError, isFenceLost, isStatusError, pause, StatusError, type StatusReason } from '#pkg/apimachinery/index';
import { ItemBackoff } from '#pkg/runtime/index';

/** They take some seven seconds. */
const attempts = 10;
const forNow: ReadonlySet<StatusReason> = new Set(['ServiceUnavailable', 'Timeout', 'TooManyRequests', 'Expired']);

/**
 * Runs work that begins with a fresh read, again where somebody else was faster, or the server cannot be asked for now.
 */
export async function retryRaces<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const backoff = new ItemBackoff({ baseMs: 20, maxMs: 2000, jitter: 0.5 });
  for (;;) {
    if (signal.aborted) throw abortError(signal);
    try {
      return await work();
    } catch (error) {
      if (!isPassing(error) || backoff.failures('') === attempts) throw error;
      await pause(backoff.delay(''), signal);
    }
  }
}

/** Thrown by what was read a moment ago and is not there any more. */
export class VanishedError extends StatusError {
  constructor(name: string) {
    super(409, 'Conflict', `${name} is gone meanwhile`);
  }
}

/** May another try find it mended? */
export function isPassing(error: unknown): boolean {
  if (!isStatusError(error) || isFenceLost(error)) return false;
  if (error.reason === 'AlreadyExists') return true;
  // A value that another object holds is no race: it would be refused again.
  if (error.reason === 'Conflict') return error.details?.causes === undefined;
  return forNow.has(error.reason);
}
