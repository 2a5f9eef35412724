import { describe, expect, test } from '@jest/globals';
import type { JsonObject, JsonSchema } from '#pkg/apimachinery/index';
import { compileSchemaValidator } from './schema-validator.ts';

function spec(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties: { spec: { type: 'object', properties } } };
}

const one: JsonSchema = { type: 'integer', default: 1 };
const plain: JsonSchema = { type: 'integer' };

describe('SchemaValidator.applyDefaults', () => {
  test.each<{ reason: string; schema: JsonSchema; object: JsonObject; filled: JsonObject }>([
    { reason: 'an absent field', schema: spec({ n: one }), object: { spec: {} }, filled: { spec: { n: 1 } } },
    { reason: 'a present one stays', schema: spec({ n: one }), object: { spec: { n: 2 } }, filled: { spec: { n: 2 } } },
    { reason: 'an absent parent stays absent', schema: spec({ n: one }), object: {}, filled: {} },
    { reason: 'defaults inside a default', schema: spec({ o: { type: 'object', default: {}, properties: { n: one } } }), object: { spec: {} }, filled: { spec: { o: { n: 1 } } } },
    { reason: 'in lists', schema: spec({ l: { type: 'array', items: { type: 'object', properties: { n: one } } } }), object: { spec: { l: [{}, { n: 2 }] } }, filled: { spec: { l: [{ n: 1 }, { n: 2 }] } } },
    { reason: 'in maps', schema: spec({ m: { type: 'object', additionalProperties: { type: 'object', properties: { n: one } } } }), object: { spec: { m: { a: {} } } }, filled: { spec: { m: { a: { n: 1 } } } } },
    { reason: 'a null becomes the default', schema: spec({ n: one }), object: { spec: { n: null } }, filled: { spec: { n: 1 } } },
    { reason: 'a null without one goes', schema: spec({ n: plain }), object: { spec: { n: null } }, filled: { spec: {} } },
    { reason: 'a null that is allowed stays', schema: spec({ n: { ...one, nullable: true } }), object: { spec: { n: null } }, filled: { spec: { n: null } } },
    { reason: 'a null of a map goes', schema: spec({ m: { type: 'object', additionalProperties: plain } }), object: { spec: { m: { a: null, b: 1 } } }, filled: { spec: { m: { b: 1 } } } },
    { reason: 'a null item has nowhere to go', schema: spec({ l: { type: 'array', items: plain } }), object: { spec: { l: [null] } }, filled: { spec: { l: [null] } } },
    { reason: 'a null item becomes the default', schema: spec({ l: { type: 'array', items: one } }), object: { spec: { l: [null] } }, filled: { spec: { l: [1] } } },
    { reason: 'unknown nulls stay', schema: spec({ n: plain }), object: { spec: { x: null } }, filled: { spec: { x: null } } },
    { reason: 'metadata is not touched', schema: spec({}), object: { metadata: { labels: null } }, filled: { metadata: { labels: null } } },
    {
      reason: 'embedded metadata loses its nulls, but for times',
      schema: spec({ t: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true } }),
      object: { spec: { t: { metadata: { labels: null, creationTimestamp: null } } } },
      filled: { spec: { t: { metadata: { creationTimestamp: null } } } },
    },
  ])('$reason', ({ schema, object, filled }) => {
    compileSchemaValidator(schema).applyDefaults(object);
    expect(object).toEqual(filled);
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
