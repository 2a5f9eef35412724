import { expect, jest } from '@jest/globals';

/** On the machine that docs/performance.md was measured on. Milliseconds. */
const referenceMs = 20_000;

/**
 * A test without I/O has nothing to wait for but its own code: one that hangs ends soon, and a wait in it sooner, with
 * its condition's name.
 */
if (!/\.(integration|whole)\.test\.ts$/.test(expect.getState().testPath ?? '')) {
  const limitMs = Math.round(referenceMs * Number(process.env['SVC_TEST_SLOWNESS'] ?? 1));
  jest.setTimeout(limitMs);
  process.env['SVC_TEST_LIMIT_MS'] = String(limitMs);
  process.env['SVC_TEST_WAIT_MS'] = String(Math.round(limitMs * 0.75));
}
