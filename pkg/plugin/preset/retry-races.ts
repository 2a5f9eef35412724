import { abortError, isFenceLost, isStatusError, pause, StatusError, type StatusReason } from '#pkg/apimachinery/index';
import { ItemBackoff } from '#pkg/runtime/index';

/** They take about seven seconds. */
const maxAttempts = 10;
const transientReasons: ReadonlySet<StatusReason> = new Set([
  'ServiceUnavailable',
  'Timeout',
  'TooManyRequests',
  'Expired',
]);

/** Runs work that starts with a fresh read, and repeats it after a conflict or a transient failure of the API. */
export async function retryRaces<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const backoff = new ItemBackoff({ baseMs: 20, maxMs: 2000, jitter: 0.5 });
  for (;;) {
    if (signal.aborted) throw abortError(signal);
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || backoff.failures('') === maxAttempts) throw error;
      await pause(backoff.delay(''), signal);
    }
  }
}

/** Thrown if an object disappeared after it was read. */
export class VanishedError extends StatusError {
  constructor(name: string) {
    super(409, 'Conflict', `${name} is gone meanwhile`);
  }
}

/** Whether a retry may succeed. */
export function isTransient(error: unknown): boolean {
  if (!isStatusError(error) || isFenceLost(error)) return false;
  if (error.reason === 'AlreadyExists') return true;
  // A unique value that another object holds is not a race: a retry would be refused too.
  if (error.reason === 'Conflict') return error.details?.causes === undefined;
  return transientReasons.has(error.reason);
}
