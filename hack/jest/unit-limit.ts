import { expect, jest } from '@jest/globals';

/** On the machine of docs/performance.md. Milliseconds. */
const referenceMs = 20_000;

/**
 * A unit test waits for nothing but its own code: one that hangs ends early, and a wait in it earlier, with the name of
 * its condition.
 */
if (!/\.(integration|whole)\.test\.ts$/.test(expect.getState().testPath ?? '')) {
  const limitMs = Math.round(referenceMs * Number(process.env['SVC_TEST_SLOWNESS'] ?? 1));
  jest.setTimeout(limitMs);
  process.env['SVC_TEST_LIMIT_MS'] = String(limitMs);
  process.env['SVC_TEST_WAIT_MS'] = String(Math.round(limitMs * 0.75));
}
