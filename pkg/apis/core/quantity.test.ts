import { describe, expect, test } from '@jest/globals';
import { parseQuantity } from './quantity.ts';

describe('parseQuantity', () => {
  test.each([
    ['0', 0],
    ['+10', 10],
    ['1.5Gi', 1.5 * 2 ** 30],
    ['.5k', 500],
    ['1.', 1],
    ['2e3', 2_000],
    ['25E-1', 2.5],
    ['1500m', 1.5],
    ['1Ei', 2 ** 60],
    ['1.005k', 1005],
    ['4.35e2', 435],
    ['0e-999', 0],
  ])('%s', (text, value) => {
    expect(parseQuantity(text)).toBe(value);
  });

  test.each(['', '-1', 'x', '1 Gi', '1KB', '1e', '1e1234', '1e-999', '1kk', '.', '0x10', '1,5', ' 1'])(
    'not %j',
    (text) => {
      expect(parseQuantity(text)).toBeUndefined();
    },
  );
});
