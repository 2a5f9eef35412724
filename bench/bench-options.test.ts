import { describe, expect, test } from '@jest/globals';
import { parseBenchOptions } from './bench-options.ts';

describe('options of the bench', () => {
  test.each([
    { reason: 'the default', args: [], sizes: [1000, 10_000, 100_000] },
    { reason: 'a million', args: ['--large=1000000'], sizes: [1000, 10_000, 100_000, 1_000_000] },
    { reason: 'not a power of ten', args: ['--large=3000'], sizes: [1000, 3000] },
    { reason: 'less than the smallest', args: ['--large=10'], sizes: [1000] },
  ])('lists are measured at every power of ten up to the largest: $reason', ({ args, sizes }) => {
    expect(parseBenchOptions(args).sizes).toEqual(sizes);
  });

  test.each([
    { args: ['--only=get,fly'], says: /no scenario fly/ },
    { args: ['--seconds=0'], says: /--seconds must be a positive number/ },
    { args: ['--large=many'], says: /--large must be a positive number/ },
    { args: ['--fast'], says: /--fast/ },
  ])('$args is refused', ({ args, says }) => {
    expect(() => parseBenchOptions(args)).toThrow(says);
  });

  test('the quick form is small and needs no browser, unless options say otherwise', () => {
    expect(parseBenchOptions([]).only).toContain('console');
    expect(parseBenchOptions(['--quick']).only).not.toContain('console');
    expect(parseBenchOptions(['--quick', '--only=console']).only).toEqual(['console']);
    expect(parseBenchOptions(['--quick'])).toMatchObject({ isQuick: true, rounds: 1, sizes: [1000, 3000] });
    expect(parseBenchOptions(['--quick', '--rounds=2'])).toMatchObject({ rounds: 2 });
  });
});
