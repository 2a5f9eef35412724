import { expect, test } from '@jest/globals';
import { RetryTimes } from './retry-times.ts';

/** The wait after so many failures, in whole seconds. */
function waits(failures: number, { ranMs = 0 } = {}): number {
  const times = new RetryTimes();
  for (let i = 0; i < failures; i += 1) times.failed('a', 'x', ranMs);
  return Math.floor(times.wait('a', 'x') / 1000);
}

test('waits longer after each failure, up to five minutes plus jitter', () => {
  expect(waits(0)).toBe(0);
  for (const [failures, least] of [
    [1, 1],
    [2, 2],
    [3, 4],
    [5, 16],
    [9, 256],
  ] as const) {
    // Some time has passed since the failure.
    expect(waits(failures)).toBeGreaterThanOrEqual(least - 1);
    expect(waits(failures)).toBeLessThanOrEqual(least * 1.2);
  }
  expect(waits(30)).toBeGreaterThanOrEqual(299);
  expect(waits(30)).toBeLessThanOrEqual(360);
});

test('starts again from the shortest wait after ten minutes of running', () => {
  expect(waits(5, { ranMs: 600_000 })).toBeLessThanOrEqual(1);
});

test('a failure with other files, or another spec, is a different failure', () => {
  const times = new RetryTimes();
  times.failed('a', 'x');
  expect([times.hasFailed('a', 'x'), times.hasFailed('a', 'y'), times.hasFailed('b', 'x')]).toEqual([
    true,
    false,
    false,
  ]);
  expect([times.wait('a', 'y'), times.wait('b', 'x')]).toEqual([0, 0]);
  for (let i = 0; i < 5; i += 1) times.failed('a', 'x');
  times.failed('a', 'y');
  expect(times.wait('a', 'y')).toBeLessThanOrEqual(1200);
  times.forget('a');
  expect(times.wait('a', 'y')).toBe(0);
});
