import { setTimeout as delay } from 'node:timers/promises';

export interface RetryOptions {
  /** The condition in the error: "the plugin has started". */
  readonly what: string;
  readonly timeoutMs: number;
  /** Pause between two attempts. Milliseconds, default 50. */
  readonly intervalMs?: number;
}

/**
 * Resolves as soon as `condition` is true; an error counts as false. Rejects after `timeoutMs` with `what` and, as its
 * cause, the condition's last error.
 */
export async function retryUntilTrue(
  condition: () => Promise<boolean> | boolean,
  { what, timeoutMs, intervalMs = 50 }: RetryOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let failure: unknown; ;) {
    try {
      if (await condition()) return;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline)
      throw new Error(`timed out after ${Math.round(timeoutMs / 1000)} s: ${what}`, { cause: failure });
    await delay(intervalMs);
  }
}
