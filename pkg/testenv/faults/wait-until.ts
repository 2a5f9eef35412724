import { setTimeout as delay } from 'node:timers/promises';

/** Asks again and again, ever less often, until it holds. @throws Error with `what` past the time, which is in milliseconds */
export async function waitUntil(holds: () => Promise<boolean>, timeoutMs: number, what: string): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 5; !(await holds()); pauseMs = Math.min(pauseMs * 1.5, 50)) {
    if (performance.now() > deadline) throw new Error(`${what} within ${timeoutMs} ms`);
    await delay(pauseMs);
  }
}
