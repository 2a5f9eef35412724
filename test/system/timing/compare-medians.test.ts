import { expect, test } from '@jest/globals';
import { SeededRandom } from '../harness/seeded-random.ts';
import { compareMedians } from './compare-medians.ts';

/** With the long tail of real times. */
function times(seed: string, count: number, shift: number): number[] {
  const random = new SeededRandom(seed);
  return Array.from(
    { length: count },
    () => 50 + shift + 3 * random.fraction() + (random.chance(0.1) ? 100 * random.fraction() : 0),
  );
}

test.each([
  ['the same', 0, true],
  ['2 % more', 1, false],
  ['2 % less', -1, false],
])('%s', (_reason, shift, isZeroWithin) => {
  const { low, high, first, second } = compareMedians(
    times('a', 150, 0),
    times('b', 150, shift),
    new SeededRandom('c'),
  );
  expect(low <= 0 && high >= 0).toBe(isZeroWithin);
  expect(low).toBeLessThanOrEqual(second - first);
  expect(high).toBeGreaterThanOrEqual(second - first);
});

test('the median of an even and of an odd number', () => {
  expect(compareMedians([1, 2, 3], [1, 2, 3, 4], new SeededRandom('a'))).toMatchObject({ first: 2, second: 2.5 });
});
