import { pause } from '#pkg/apimachinery/index';

/**
 * How long a test waits for a condition. Milliseconds; `npm test` sets less than the limit of the test file that runs,
 * so that the wait ends first and names the condition.
 */
export function waitMs(): number {
  return Number(process.env['SVC_TEST_WAIT_MS'] ?? 60_000);
}

/**
 * Polls with growing pauses until it holds. `what` describes the condition, by default the source of `holds`.
 * @throws Error with `what` after the timeout
 */
export async function pollUntil(
  holds: () => boolean | Promise<boolean>,
  timeoutMs = waitMs(),
  what = String(holds),
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 1; !(await holds()); pauseMs = Math.min(pauseMs * 1.5, 50)) {
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}`);
    await pause(pauseMs);
  }
}
