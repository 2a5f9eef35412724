import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { DefaultBudget, DefaultsTooLarge } from './apply-defaults.ts';
import { countValues } from './json-value.ts';
import { compileSchemaValidator } from './schema-validator.ts';

function spec(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties: { spec: { type: 'object', properties } } };
}

const one: JsonSchema = { type: 'integer', default: 1 };
const plain: JsonSchema = { type: 'integer' };

describe('SchemaValidator.applyDefaults', () => {
  test.each<{ reason: string; schema: JsonSchema; object: JsonObject; filled: JsonObject }>([
    { reason: 'an absent field', schema: spec({ n: one }), object: { spec: {} }, filled: { spec: { n: 1 } } },
    {
      reason: 'a present field stays',
      schema: spec({ n: one }),
      object: { spec: { n: 2 } },
      filled: { spec: { n: 2 } },
    },
    { reason: 'an absent parent stays absent', schema: spec({ n: one }), object: {}, filled: {} },
    {
      reason: 'defaults inside a default',
      schema: spec({ o: { type: 'object', default: {}, properties: { n: one } } }),
      object: { spec: {} },
      filled: { spec: { o: { n: 1 } } },
    },
    {
      reason: 'in lists',
      schema: spec({ l: { type: 'array', items: { type: 'object', properties: { n: one } } } }),
      object: { spec: { l: [{}, { n: 2 }] } },
      filled: { spec: { l: [{ n: 1 }, { n: 2 }] } },
    },
    {
      reason: 'in maps',
      schema: spec({ m: { type: 'object', additionalProperties: { type: 'object', properties: { n: one } } } }),
      object: { spec: { m: { a: {} } } },
      filled: { spec: { m: { a: { n: 1 } } } },
    },
    {
      reason: 'a null becomes the default',
      schema: spec({ n: one }),
      object: { spec: { n: null } },
      filled: { spec: { n: 1 } },
    },
    {
      reason: 'a null without a default is removed',
      schema: spec({ n: plain }),
      object: { spec: { n: null } },
      filled: { spec: {} },
    },
    {
      reason: 'an allowed null stays',
      schema: spec({ n: { ...one, nullable: true } }),
      object: { spec: { n: null } },
      filled: { spec: { n: null } },
    },
    {
      reason: 'a null in a map is removed',
      schema: spec({ m: { type: 'object', additionalProperties: plain } }),
      object: { spec: { m: { a: null, b: 1 } } },
      filled: { spec: { m: { b: 1 } } },
    },
    {
      reason: 'a null item stays',
      schema: spec({ l: { type: 'array', items: plain } }),
      object: { spec: { l: [null] } },
      filled: { spec: { l: [null] } },
    },
    {
      reason: 'a null item becomes the default',
      schema: spec({ l: { type: 'array', items: one } }),
      object: { spec: { l: [null] } },
      filled: { spec: { l: [1] } },
    },
    {
      reason: 'unknown nulls stay',
      schema: spec({ n: plain }),
      object: { spec: { x: null } },
      filled: { spec: { x: null } },
    },
    {
      reason: 'a metadata below the root is a field like any other',
      schema: spec({ metadata: { type: 'object', default: {}, properties: { n: one } } }),
      object: { spec: {} },
      filled: { spec: { metadata: { n: 1 } } },
    },
    {
      reason: 'in a metadata below the root',
      schema: spec({ metadata: { type: 'object', properties: { n: one, o: plain } } }),
      object: { spec: { metadata: { o: null } } },
      filled: { spec: { metadata: { n: 1 } } },
    },
    {
      reason: 'in nested lists',
      schema: spec({
        l: { type: 'array', items: { type: 'array', items: { type: 'object', properties: { n: one } } } },
      }),
      object: { spec: { l: [[{}], []] } },
      filled: { spec: { l: [[{ n: 1 }], []] } },
    },
    {
      reason: 'metadata is not touched',
      schema: spec({}),
      object: { metadata: { labels: null } },
      filled: { metadata: { labels: null } },
    },
    {
      reason: 'embedded metadata loses its nulls, except timestamps',
      schema: spec({
        t: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      }),
      object: { spec: { t: { metadata: { labels: null, creationTimestamp: null } } } },
      filled: { spec: { t: { metadata: { creationTimestamp: null } } } },
    },
    {
      reason: 'embedded metadata that is null is empty',
      schema: spec({
        t: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
      }),
      object: { spec: { t: { metadata: null } } },
      filled: { spec: { t: { metadata: {} } } },
    },
  ])('$reason', ({ schema, object, filled }) => {
    compileSchemaValidator(schema).applyDefaults(object);
    expect(object).toEqual(filled);
  });

  test.each<{ reason: string; schema: JsonSchema; kept: JsonValue | undefined }>([
    { reason: 'of a type', schema: plain, kept: null },
    { reason: 'of integers and strings', schema: { 'x-kubernetes-int-or-string': true }, kept: null },
    { reason: 'with a default', schema: one, kept: 1 },
    { reason: 'without a type', schema: { 'x-kubernetes-preserve-unknown-fields': true }, kept: undefined },
  ])('with keepsNulls, a null in a field $reason', ({ schema, kept }) => {
    const object: JsonObject = { spec: { n: null } };
    compileSchemaValidator(spec({ n: schema })).applyDefaults(object, { keepsNulls: true });
    expect(object).toEqual({ spec: kept === undefined ? {} : { n: kept } });
  });

  test.each<{ reason: string; items: JsonSchema; value: JsonValue; count: number }>([
    {
      reason: 'long texts',
      items: { type: 'object', properties: { a: { type: 'string', default: 'z'.repeat(100_000) } } },
      value: {},
      count: 11,
    },
    {
      reason: 'as bytes',
      items: { type: 'object', properties: { a: { type: 'string', default: 'ü'.repeat(50_000) } } },
      value: {},
      count: 11,
    },
    {
      reason: 'many values',
      items: {
        type: 'object',
        properties: { a: { type: 'array', items: plain, default: Array.from({ length: 1000 }, () => 0) } },
      },
      value: {},
      count: 100,
    },
    {
      reason: 'in place of null items',
      items: { type: 'array', items: plain, default: Array.from({ length: 1000 }, () => 0) },
      value: null,
      count: 100,
    },
    {
      reason: 'defaults inside defaults',
      items: {
        type: 'object',
        default: {},
        properties: {
          a: { type: 'object', default: {}, properties: { b: { type: 'string', default: 'z'.repeat(100_000) } } },
        },
      },
      value: null,
      count: 11,
    },
  ])('defaults do not multiply the size of an object: $reason', ({ items, value, count }) => {
    const fill = (length: number): void =>
      compileSchemaValidator(spec({ l: { type: 'array', items } })).applyDefaults({
        spec: { l: Array.from({ length }, () => structuredClone(value)) },
      });
    expect(() => fill(count)).toThrow(DefaultsTooLarge);
    expect(() => fill(count)).toThrow(
      'the defaults of the schema make the object too large: they may add 1048576 bytes, and the object may hold 100000 values and keys with them',
    );
    expect(() => fill(5)).not.toThrow();
  });

  test('defaults of any schema never exceed the budget', () => {
    const leaf = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.integer(),
      fc.array(fc.constantFrom('a', 'ü'), { maxLength: 5 }),
      fc.constant({ n: { m: null } }),
    );
    const tree = fc.letrec<{ node: JsonSchema }>((tie) => ({
      node: fc.oneof(
        { maxDepth: 4 },
        leaf.map((value): JsonSchema => ({ default: value, 'x-kubernetes-preserve-unknown-fields': true })),
        fc
          .dictionary(fc.constantFrom('a', 'b', 'ü'), tie('node'))
          .map((properties): JsonSchema => ({ type: 'object', default: {}, properties })),
        tie('node').map((items): JsonSchema => ({ type: 'array', items, default: [null, {}] })),
      ),
    })).node;
    fc.assert(
      fc.property(tree, fc.nat(60), fc.nat(400), (items, values, size) => {
        const object: JsonObject = { spec: [null, {}, null] };
        const before = { values: countValues(object), size: Buffer.byteLength(JSON.stringify(object)) };
        try {
          compileSchemaValidator({ type: 'object', properties: { spec: { type: 'array', items } } }).applyDefaults(
            object,
            { budget: new DefaultBudget({ values, size }) },
          );
        } catch (error) {
          expect(error).toBeInstanceOf(DefaultsTooLarge);
        }
        expect(countValues(object)).toBeLessThanOrEqual(before.values + values);
        expect(Buffer.byteLength(JSON.stringify(object))).toBeLessThanOrEqual(before.size + size);
      }),
      { numRuns: 300 },
    );
  });

  test('each object has its own copy of a default', () => {
    const validator = compileSchemaValidator(spec({ o: { type: 'object', default: { n: 1 } } }));
    const [first, second]: JsonObject[] = [{ spec: {} }, { spec: {} }];
    validator.applyDefaults(first!);
    ((first!['spec'] as JsonObject)['o'] as JsonObject)['n'] = 2;
    validator.applyDefaults(second!);
    expect(second).toEqual({ spec: { o: { n: 1 } } });
  });
});
