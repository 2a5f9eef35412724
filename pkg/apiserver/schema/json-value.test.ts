import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '#pkg/apimachinery/index';
import { maxJsonBytes } from './json-value.ts';

test.each<[JsonValue]>([
  ['\u0000\u001f'],
  ['\ud800'],
  ['ü€😀'],
  [-1.2345678901234567e-308],
  [{ '\u0001': false, b: null }],
])('maxJsonBytes(%j) is at least the length of its JSON', (value) => {
  expect(maxJsonBytes(value)).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(value)));
});

test('maxJsonBytes of any value is at least the length of its JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      expect(maxJsonBytes(value as JsonValue)).toBeGreaterThanOrEqual(Buffer.byteLength(JSON.stringify(value)));
    }),
  );
});

test('maxJsonBytes stops soon after the maximum', () => {
  expect(
    maxJsonBytes(
      Array.from({ length: 1000 }, () => 'x'.repeat(100)),
      1000,
    ),
  ).toBeLessThan(2000);
});
