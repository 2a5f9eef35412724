import { describe, expect, test } from '@jest/globals';
import { SeededRandom } from './seeded-random.ts';

const draws = (random: SeededRandom): number[] => Array.from({ length: 20 }, () => random.fraction());

describe('SeededRandom', () => {
  test('the same seed gives the same numbers, another seed others', () => {
    expect(draws(new SeededRandom(7))).toEqual(draws(new SeededRandom(7)));
    expect(draws(new SeededRandom(7))).not.toEqual(draws(new SeededRandom(8)));
  });
  test('a fork depends on seed and label, not on what was drawn before', () => {
    const used = new SeededRandom(7);
    draws(used);
    expect(draws(used.fork('a'))).toEqual(draws(new SeededRandom(7).fork('a')));
    expect(draws(used.fork('a'))).not.toEqual(draws(used.fork('b')));
  });
  test('shuffling loses nothing', () => {
    const items = Array.from({ length: 50 }, (_, i) => i);
    const shuffled = new SeededRandom(7).shuffled(items);
    expect(shuffled).not.toEqual(items);
    expect(shuffled.toSorted((a, b) => a - b)).toEqual(items);
  });
  test('names come as often as their weights say', () => {
    const random = new SeededRandom(7);
    const names = Array.from({ length: 2000 }, () => random.weighted({ rare: 1, never: 0, often: 9 }));
    expect(names).not.toContain('never');
    expect(names.filter((name) => name === 'rare').length / names.length).toBeCloseTo(0.1, 1);
  });
});
