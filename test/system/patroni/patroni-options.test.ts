import { describe, expect, test } from '@jest/globals';
import { parsePatroniOptions } from './patroni-options.ts';

describe('options of make patroni', () => {
  test('a whole run has twenty of each, a quick one two', () => {
    expect(parsePatroniOptions([])).toMatchObject({
      only: ['synchronous', 'asynchronous', 'faults', 'regions'],
      count: 20,
    });
    expect(parsePatroniOptions(['--quick'])).toMatchObject({
      only: ['synchronous', 'asynchronous', 'faults', 'regions'],
      count: 2,
    });
    expect(parsePatroniOptions(['--only=asynchronous', '--count=5', '--seed=7'])).toMatchObject({
      only: ['asynchronous'],
      count: 5,
      seed: 7,
    });
  });

  test.each([
    ['an unknown case', ['--only=synchronus'], 'there is no case synchronus'],
    ['a count of none', ['--count=0'], '--count must be a whole number above 0'],
    ['an unknown option', ['--fast'], '--fast'],
  ])('%s is refused', (_, args, message) => {
    expect(() => parsePatroniOptions(args)).toThrow(message);
  });
});
