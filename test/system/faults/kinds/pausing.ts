import { setTimeout as delay } from 'node:timers/promises';
import type { Heal } from '../fault.ts';

/** Repeats `work` until healed; its failures are part of the fault. */
export function pausing(everyMs: number, work: () => Promise<unknown>): Heal {
  const ending = new AbortController();
  const running = (async () => {
    while (!ending.signal.aborted) {
      await work().catch(() => undefined);
      await delay(everyMs);
    }
  })();
  return async () => {
    ending.abort();
    await running;
  };
}
