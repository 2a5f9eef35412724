import { describe, expect, test } from '@jest/globals';
import { parseRolloutOptions } from './rollout-options.ts';

describe('options of a rollout', () => {
  test('a quick run skips the measurements', () => {
    expect(parseRolloutOptions(['--quick']).only).toEqual([
      'upgrade',
      'kill',
      'crash',
      'failover-synchronous',
      'failover-asynchronous',
    ]);
    expect(parseRolloutOptions([]).only).toContain('measure');
    expect(parseRolloutOptions(['--only=measure', '--seed=7'])).toMatchObject({
      only: ['measure'],
      seed: 7,
      from: 'HEAD~1',
    });
  });

  test.each([
    ['an unknown scenario', ['--only=upgrde'], 'there is no scenario upgrde'],
    ['a seed that is not a number', ['--seed=x'], '--seed must be a whole number'],
    ['an unknown option', ['--fast'], '--fast'],
  ])('%s is refused', (_, args, message) => {
    expect(() => parseRolloutOptions(args)).toThrow(message);
  });
});
