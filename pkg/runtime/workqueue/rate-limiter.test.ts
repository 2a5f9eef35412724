import { describe, expect, test } from '@jest/globals';
import { ManualClock } from './manual-clock.ts';
import { guardedLimiter, ItemBackoff, OverallLimit, slowestOf } from './rate-limiter.ts';

describe('the back-off of a key', () => {
  test('doubles up to its limit, separately for each key', () => {
    const backoff = new ItemBackoff({ baseMs: 10, maxMs: 50, jitter: 0 });
    expect([1, 2, 3, 4, 5].map(() => backoff.delay('a'))).toEqual([10, 20, 40, 50, 50]);
    expect(backoff.delay('b')).toBe(10);
    expect(backoff.failures('a')).toBe(5);
    backoff.forget('a');
    expect(backoff.delay('a')).toBe(10);
  });

  test('has random jitter, also at its limit', () => {
    const backoff = new ItemBackoff({ baseMs: 100, maxMs: 150, jitter: 0.5, random: () => 0.5 });
    expect([backoff.delay('a'), backoff.delay('a')]).toEqual([125, 187.5]);
  });

  test('stays finite after a thousand failures', () => {
    const backoff = new ItemBackoff({ jitter: 0 });
    for (let i = 0; i < 2000; i += 1) backoff.delay('a');
    expect(backoff.delay('a')).toBe(1_000_000);
  });
});

describe('the limit over all keys', () => {
  test('allows a burst, then a steady rate', () => {
    const clock = new ManualClock();
    const limit = new OverallLimit({ perSecond: 10, burst: 3, clock });
    expect([1, 2, 3, 4, 5].map(() => limit.delay())).toEqual([0, 0, 0, 100, 200]);
    clock.advance(200);
    expect(limit.delay()).toBe(100);
    clock.advance(10_000);
    expect([1, 2, 3, 4].map(() => limit.delay())).toEqual([0, 0, 0, 100]);
  });

  test('the slowest of several decides', () => {
    const clock = new ManualClock();
    const both = slowestOf(
      new ItemBackoff({ baseMs: 50, jitter: 0 }),
      new OverallLimit({ perSecond: 10, burst: 1, clock }),
    );
    expect([both.delay('a'), both.delay('b'), both.delay('b')]).toEqual([50, 100, 200]);
    expect(both.failures('b')).toBe(2);
    both.forget('b');
    expect(both.failures('b')).toBe(0);
  });
});

test('a limiter that throws or returns no time is replaced by the built-in one', () => {
  const errors: unknown[] = [];
  const answers: unknown[] = [5, NaN, 'soon', Infinity, new Error('broken')];
  const limiter = guardedLimiter(
    {
      delay: () => {
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        return answer as number;
      },
      forget: () => {
        throw new Error('not forgotten');
      },
      failures: () => {
        throw new Error('not counted');
      },
    },
    (error) => errors.push(error),
  );
  const delays = [1, 2, 3, 4, 5].map(() => limiter.delay('a'));
  expect(delays[0]).toBe(5);
  for (const [i, delay] of delays.slice(1).entries()) expect(delay).toBeGreaterThanOrEqual(5 * 2 ** (i + 1));
  expect(limiter.failures('a')).toBe(5);
  limiter.forget('a');
  expect(limiter.failures('a')).toBe(0);
  expect(errors).toEqual([
    new Error('broken'),
    new Error('not counted'),
    new Error('not forgotten'),
    new Error('not counted'),
  ]);
});
