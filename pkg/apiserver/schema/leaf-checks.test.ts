import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { LeafValidators } from './leaf-validators.ts';
import { PatternMeter } from './linear-pattern.ts';

const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 4 }), fc.constantFrom('a', 'ab', '2026-01-31T09:30:00Z', '10.0.0.1', 'YQ==', '\ud83d\ude00', '\ud83d'));
const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.1, 0.3, 1.5, 2 ** 31, 2 ** 40, 1e300));
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.array(number, { maxLength: 3 }),
  fc.array(fc.tuple(fc.constantFrom('a', 'b', 'toString', 'constructor'), number), { maxLength: 3 }).map((pairs) => Object.fromEntries(pairs)),
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

test('passes what Ajv finds no failure in, and nothing else', () => {
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 1, maxLength: 8 }), (rules, values) => {
      const leaves = new LeafValidators();
      const meter = new PatternMeter();
      for (const each of values) expect([each, leaves.passes(rules, each, meter)]).toEqual([each, leaves.failures(rules, each, meter).length === 0]);
    }),
    { numRuns: 400 },
  );
});
