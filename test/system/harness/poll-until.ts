import { setTimeout as delay } from 'node:timers/promises';

export interface PollOptions {
  /** What is awaited, for the error: "the plugin has started". */
  readonly what: string;
  readonly timeoutMs: number;
  /** Between two attempts. Default 50. */
  readonly intervalMs?: number;
}

/**
 * Resolves as soon as `condition` holds; one that throws does not hold yet. Rejects after `timeoutMs` with what was
 * awaited and, as its cause, what the condition threw last.
 */
export async function pollUntil(
  condition: () => Promise<boolean> | boolean,
  { what, timeoutMs, intervalMs = 50 }: PollOptions,
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
