import { describe, expect, test } from '@jest/globals';
import { parseConformanceOptions } from './conformance-options.ts';

describe('options of make conformance', () => {
  test('without a peer there is a seed and a size', () => {
    expect(parseConformanceOptions([])).toMatchObject({
      peer: undefined,
      models: 20,
      objects: 60,
      steps: 14,
      parallel: 6,
    });
    expect(parseConformanceOptions(['--peer=/srv/peer', '--seed=x', '--model=3'])).toMatchObject({
      peer: '/srv/peer',
      seed: 'x',
      only: 3,
    });
  });

  test.each([
    ['no models', ['--models=0'], '--models must be a whole number above 0'],
    ['an unknown option', ['--fast'], '--fast'],
  ])('%s is refused', (_, args, message) => {
    expect(() => parseConformanceOptions(args)).toThrow(message);
  });
});
