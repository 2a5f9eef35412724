import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '../meta/object.ts';
import { decodeJson } from './decode-json.ts';
import { decodeYaml } from './decode-yaml.ts';
import { encodeJson } from './encode-json.ts';
import { encodeYaml } from './encode-yaml.ts';

test.each<[JsonValue, string]>([
  [{ a: 1e20 }, '{"a":1e+20}'],
  [[2 ** 53, -(2 ** 53), 2 ** 53 - 1], '[9.007199254740992e+15,-9.007199254740992e+15,9007199254740991]'],
  [[1e21, 1.5e300, 0.1, 1234567890.1234567], '[1e+21,1.5e+300,0.1,1234567890.1234567]'],
  [
    { '12345678901234567890': '12345678901234567890 "\\', a: [1e16] },
    '{"12345678901234567890":"12345678901234567890 \\"\\\\","a":[1e+16]}',
  ],
  ['12345678901234567890', '"12345678901234567890"'],
  [123456789012345680000, '1.2345678901234568e+20'],
])('%j is written as %s', (value, text) => {
  expect(encodeJson(value)).toBe(text);
});

test('a value that JSON cannot represent has no text', () => {
  expect(encodeJson(undefined)).toBeUndefined();
  expect(() => encodeJson({ a: 1n })).toThrow(TypeError);
});

test('every value that is written as JSON or YAML is read back the same', () => {
  const large = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e22, max: 1e22 }),
    fc.bigInt({ min: -(10n ** 22n), max: 10n ** 22n }).map(Number),
    fc.integer({ min: 15, max: 22 }).map((power) => 10 ** power),
  );
  const number = fc
    .oneof(large, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.maxSafeInteger())
    .map((value) => value + 0);
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.bigInt().map(String));
  const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      number,
      text,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(text, tie('value'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(values, (value) => {
      const plain = JSON.parse(JSON.stringify(value), (key, each: unknown) =>
        ['__proto__', 'constructor', 'prototype'].includes(key) ? undefined : each,
      ) as JsonValue;
      const written = encodeJson(plain)!;
      expect(JSON.parse(written)).toEqual(plain);
      expect(decodeJson(Buffer.from(written)).value).toEqual(plain);
      expect(decodeYaml(Buffer.from(encodeYaml(plain))).value).toEqual(plain);
    }),
    { numRuns: 500 },
  );
});
