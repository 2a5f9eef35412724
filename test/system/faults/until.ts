import { setTimeout as delay } from 'node:timers/promises';

/**
 * Resolves when `condition` holds, asked twenty times a second; one that throws does not hold yet. Rejects with what
 * was awaited after `timeoutMs`.
 */
export async function until(
  what: string,
  timeoutMs: number,
  condition: () => Promise<boolean> | boolean,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let failure: unknown; ;) {
    try {
      if (await condition()) return;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > deadline)
      throw new Error(`in vain for ${Math.round(timeoutMs / 1000)} s: ${what}`, { cause: failure });
    await delay(50);
  }
}
