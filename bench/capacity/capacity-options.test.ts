import { describe, expect, test } from '@jest/globals';
import { parseCapacityOptions, partNames } from './capacity-options.ts';

describe('options of the measurement', () => {
  test.each([
    {
      reason: 'everything',
      args: [],
      expected: { only: [...partNames], objects: 1_000_000, samples: 2000, isQuick: false },
    },
    { reason: 'some parts', args: ['--only=disk,pooler'], expected: { only: ['disk', 'pooler'] } },
    { reason: 'more objects', args: ['--objects=5e6'], expected: { objects: 5_000_000 } },
    { reason: 'the quick form', args: ['--quick'], expected: { isQuick: true, objects: 5000, samples: 200 } },
    {
      reason: 'the quick form, with an explicit option',
      args: ['--quick', '--samples=50'],
      expected: { objects: 5000, samples: 50 },
    },
  ])('$reason', ({ args, expected }) => {
    expect(parseCapacityOptions(args)).toMatchObject(expected);
  });

  test.each([
    { args: ['--only=disk,moon'], says: /no part moon/ },
    { args: ['--objects=0'], says: /--objects must be a positive number/ },
    { args: ['--seconds=long'], says: /--seconds must be a positive number/ },
    { args: ['--slow'], says: /--slow/ },
  ])('$args is refused', ({ args, says }) => {
    expect(() => parseCapacityOptions(args)).toThrow(says);
  });
});
