import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { LeafValidators } from './leaf-validators.ts';
import { PatternMeter } from './linear-pattern.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('a', 'ab', '2026-01-31T09:30:00Z', '10.0.0.1', 'YQ==', '\ud83d\ude00', '\ud83d'),
);
const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.1, 0.3, 1.5, 2 ** 31, 2 ** 40, 1e300));
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.array(number, { maxLength: 3 }),
  fc
    .array(fc.tuple(fc.constantFrom('a', 'b', 'toString', 'constructor'), number), { maxLength: 3 })
    .map((pairs) => Object.fromEntries(pairs)),
);
const size = fc.nat(3);
const schema = fc.record(
  {
    type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'array', 'object'),
    'x-kubernetes-int-or-string': fc.constant(true),
    enum: fc.array(value, { minLength: 1, maxLength: 3 }),
    pattern: fc.constantFrom('^a', 'b$', '.'),
    format: fc.constantFrom('date-time', 'ipv4', 'byte', 'int32', 'int64', 'float', 'unknown'),
    minLength: size,
    maxLength: size,
    minimum: number,
    maximum: number,
    exclusiveMinimum: fc.boolean(),
    exclusiveMaximum: fc.boolean(),
    multipleOf: fc.constantFrom(0.1, 0.5, 2, 3),
    minItems: size,
    maxItems: size,
    minProperties: size,
    maxProperties: size,
    required: fc.array(fc.constantFrom('a', 'b', 'toString', 'constructor'), { maxLength: 2 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonSchema>;

test('accepts exactly what Ajv accepts', () => {
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 1, maxLength: 8 }), (rules, values) => {
      const leaves = new LeafValidators();
      const meter = new PatternMeter();
      for (const each of values)
        expect([each, leaves.passes(rules, each, meter)]).toEqual([
          each,
          leaves.failures(rules, each, meter).length === 0,
        ]);
    }),
    { numRuns: 400 },
  );
});

test.each<[JsonSchema, JsonValue, JsonValue]>([
  [{ type: 'integer' }, 9_007_199_254_740_991, 9_007_199_254_740_992],
  [{ minLength: 2 }, 'ab', '\u{1f600}'],
  [{ maxLength: 1 }, '\u{1f600}', 'ab'],
  [{ minItems: 1 }, [1], []],
  [{ maxItems: 1 }, [1], [1, 2]],
  [{ minProperties: 1 }, { a: 1 }, {}],
  [{ maxProperties: 1 }, { a: 1 }, { a: 1, b: 2 }],
  [{ minimum: 1, exclusiveMinimum: true }, 1.5, 1],
  [{ maximum: 1, exclusiveMaximum: true }, 0.5, 1],
  [{ multipleOf: 0.01 }, 4.35, 4.355],
  [{ multipleOf: 1e-7 }, 0.3, 0.30000005],
  [{ required: ['constructor'] }, { constructor: 1 }, {}],
  [{ enum: [{ a: 1, b: [2] }] }, { b: [2], a: 1 }, { a: 1, b: [3] }],
])('%j: %j passes, %j does not', (rules, good, bad) => {
  const leaves = new LeafValidators();
  const meter = new PatternMeter();
  expect([leaves.passes(rules, good, meter), leaves.passes(rules, bad, meter)]).toEqual([true, false]);
});
