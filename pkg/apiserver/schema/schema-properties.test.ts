import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { cloneJson } from './json-value.ts';
import { compileSchemaValidator } from './schema-validator.ts';
import { validateStructuralSchema } from './structural/structural-schema.ts';

/** A schema with values that are valid by it. */
interface Sample {
  schema: JsonSchema;
  value: fc.Arbitrary<JsonValue>;
}

const name = fc.constantFrom('a', 'b', 'c', 'spec', 'toString', 'hasOwnProperty');

const scalar: fc.Arbitrary<Sample> = fc.oneof(
  fc.nat(5).map((limit) => ({
    schema: { type: 'string', maxLength: limit } as JsonSchema,
    value: fc.string({ maxLength: limit, unit: 'grapheme-ascii' }),
  })),
  fc.constant({
    schema: { type: 'string', pattern: '^[ab]+$', default: 'a' },
    value: fc.constantFrom('a', 'bb', 'ab'),
  }),
  fc.integer().map((limit) => ({
    schema: { type: 'integer', minimum: limit, default: limit } as JsonSchema,
    value: fc.nat(9).map((more) => limit + more),
  })),
  fc.constant({ schema: { type: 'boolean', nullable: true }, value: fc.constantFrom(true, false, null) }),
  fc.constant({ schema: { 'x-kubernetes-int-or-string': true }, value: fc.oneof(fc.integer(), fc.string()) }),
);

const sample: fc.Arbitrary<Sample> = fc.letrec<{ node: Sample }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    tie('node').map(({ schema, value }) => ({
      schema: { type: 'array', items: schema } as JsonSchema,
      value: fc.array(value, { maxLength: 3 }) as fc.Arbitrary<JsonValue>,
    })),
    tie('node').map(({ schema, value }) => ({
      schema: { type: 'object', additionalProperties: schema } as JsonSchema,
      value: fc.dictionary(name, value, { maxKeys: 3 }) as fc.Arbitrary<JsonValue>,
    })),
    fc.dictionary(name, tie('node'), { maxKeys: 3 }).map((fields) => {
      const entries = Object.entries(fields);
      const schema: JsonSchema = {
        type: 'object',
        properties: Object.fromEntries(entries.map(([key, field]) => [key, field.schema])),
        required: Object.keys(fields),
      };
      return { schema, value: fc.record(Object.fromEntries(entries.map(([key, field]) => [key, field.value]))) };
    }),
  ),
})).node;

/** Any result of JSON.parse, including prototype keys. */
const hostile = fc
  .letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<JsonValue>(null, true, '', '\ud800', '\u0000', 'x'.repeat(1000), 0, -0, 1.5, 1e308),
      fc.array(tie('value'), { maxLength: 4 }),
      fc
        .array(
          fc.tuple(
            fc.constantFrom('a', 'b', 'c', 'spec', 'kind', 'metadata', '__proto__', 'constructor', 'toString', ''),
            tie('value'),
          ),
          { maxLength: 5 },
        )
        .map((pairs) => {
          return JSON.parse(
            `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`,
          ) as JsonValue;
        }),
    ),
  }))
  .value.map((value) => ({ apiVersion: 'v1', kind: 'A', metadata: { name: 'a' }, spec: value }));

const options = { numRuns: 150 };

function root(schema: JsonSchema): JsonSchema {
  return { type: 'object', properties: { spec: schema } };
}

describe('SchemaValidator, for any schema', () => {
  test('a valid value has no causes and loses nothing', () => {
    fc.assert(
      fc.property(
        sample.chain(({ schema, value }) => fc.tuple(fc.constant(schema), value)),
        ([schema, value]) => {
          expect(validateStructuralSchema(root(schema), 's')).toEqual([]);
          const validator = compileSchemaValidator(root(schema));
          const object: JsonObject = { spec: cloneJson(value) };
          expect(validator.validate(object)).toEqual([]);
          expect(validator.prune(object)).toEqual([]);
          expect(JSON.stringify(object['spec'])).toBe(JSON.stringify(value));
        },
      ),
      options,
    );
  });

  test('hostile objects: nothing throws, no prototype changes, and each step is idempotent', () => {
    fc.assert(
      fc.property(sample, hostile, ({ schema }, object) => {
        const validator = compileSchemaValidator(root(schema));
        const before = JSON.stringify(object);
        validator.validate(object);
        validator.validate(object, object);
        expect(JSON.stringify(object)).toBe(before);
        validator.prune(object);
        expect(validator.prune(object)).toEqual([]);
        validator.applyDefaults(object);
        const filled = JSON.stringify(object);
        validator.applyDefaults(object);
        expect(JSON.stringify(object)).toBe(filled);
        expect(validator.validate(object, object)).toEqual([]);
        expect(Object.keys(Object.prototype)).toEqual([]);
        expect(Object.getPrototypeOf({})).toBe(Object.prototype);
      }),
      options,
    );
  });

  test('hostile schemas: nothing throws, and a schema that is found legal can be used', () => {
    const keyword = fc.constantFrom(
      'type',
      'properties',
      'items',
      'additionalProperties',
      'allOf',
      'anyOf',
      'not',
      'required',
      'enum',
      'default',
      'pattern',
      'format',
      'metadata',
      'maxLength',
      'nullable',
      'x-kubernetes-list-type',
      'x-kubernetes-embedded-resource',
      'x-kubernetes-int-or-string',
      '__proto__',
    );
    const wild = fc.letrec<{ node: JsonValue }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>(null, true, 1, -1, 'object', 'string', 'array', 'set', '(', 'a*'),
        fc.array(tie('node'), { maxLength: 2 }),
        fc.dictionary(keyword, tie('node'), { maxKeys: 5 }) as fc.Arbitrary<JsonValue>,
      ),
    })).node;
    fc.assert(
      fc.property(wild, hostile, (part, object) => {
        const schema = { type: 'object', properties: { spec: part, metadata: part } };
        if (validateStructuralSchema(schema, 's').length > 0) return;
        const validator = compileSchemaValidator(schema as JsonSchema);
        validator.prune(object);
        validator.applyDefaults(object);
        validator.validate(object);
      }),
      { numRuns: 500 },
    );
  });
});
