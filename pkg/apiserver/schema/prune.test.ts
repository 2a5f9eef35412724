import { describe, expect, test } from '@jest/globals';
import type { JsonObject, JsonSchema } from '#pkg/apimachinery/index';
import { compileSchemaValidator } from './schema-validator.ts';

const known: JsonSchema = { type: 'object', properties: { a: { type: 'string' } } };

function spec(schema: JsonSchema): JsonSchema {
  return { type: 'object', properties: { spec: schema } };
}

describe('SchemaValidator.prune', () => {
  test.each<{ reason: string; schema: JsonSchema; object: string; kept: string; paths: string[] }>([
    {
      reason: 'an unknown field',
      schema: spec(known),
      object: '{"spec":{"a":"x","bogus":1}}',
      kept: '{"spec":{"a":"x"}}',
      paths: ['spec.bogus'],
    },
    {
      reason: 'in a list',
      schema: spec({ type: 'array', items: known }),
      object: '{"spec":[{"x":1},{"a":"x"}]}',
      kept: '{"spec":[{},{"a":"x"}]}',
      paths: ['spec[0].x'],
    },
    {
      reason: 'in the values of a map',
      schema: spec({ type: 'object', additionalProperties: known }),
      object: '{"spec":{"k":{"x":1}}}',
      kept: '{"spec":{"k":{}}}',
      paths: ['spec.k.x'],
    },
    { reason: 'at the root', schema: spec(known), object: '{"extra":1}', kept: '{}', paths: ['extra'] },
    {
      reason: 'not the fields that every resource has',
      schema: spec(known),
      object: '{"apiVersion":"v1","kind":"A","metadata":{"x":1}}',
      kept: '{"apiVersion":"v1","kind":"A","metadata":{"x":1}}',
      paths: [],
    },
    {
      reason: 'any value',
      schema: spec({ type: 'object', additionalProperties: true }),
      object: '{"spec":{"k":{"x":[{"y":1}]}}}',
      kept: '{"spec":{"k":{"x":[{"y":1}]}}}',
      paths: [],
    },
    {
      reason: 'a declared field below preserved fields',
      schema: spec({ ...known, properties: { o: known }, 'x-kubernetes-preserve-unknown-fields': true }),
      object: '{"spec":{"x":{"y":1},"o":{"z":1}}}',
      kept: '{"spec":{"x":{"y":1},"o":{}}}',
      paths: ['spec.o.z'],
    },
    {
      reason: 'an embedded resource',
      schema: spec({ ...known, 'x-kubernetes-embedded-resource': true }),
      object: '{"spec":{"apiVersion":"v1","kind":"A","metadata":{"name":"n","x":1},"y":1}}',
      kept: '{"spec":{"apiVersion":"v1","kind":"A","metadata":{"name":"n"}}}',
      paths: ['spec.metadata.x', 'spec.y'],
    },
    {
      reason: 'fields that only the root and embedded resources have',
      schema: spec(known),
      object: '{"spec":{"apiVersion":"v1","kind":"A","metadata":{"name":"n"},"a":"x"}}',
      kept: '{"spec":{"a":"x"}}',
      paths: ['spec.apiVersion', 'spec.kind', 'spec.metadata'],
    },
    {
      reason: 'below a declared metadata field',
      schema: spec({ type: 'object', properties: { metadata: known } }),
      object: '{"spec":{"metadata":{"a":"x","labels":{"k":"v"}}}}',
      kept: '{"spec":{"metadata":{"a":"x"}}}',
      paths: ['spec.metadata.labels'],
    },
    {
      reason: 'a declared metadata field is not the metadata of a resource',
      schema: spec({ type: 'object', properties: { metadata: known } }),
      object: '{"spec":{"metadata":{"a":"x","name":"n","b":[1]}}}',
      kept: '{"spec":{"metadata":{"a":"x"}}}',
      paths: ['spec.metadata.name', 'spec.metadata.b'],
    },
    {
      reason: 'in a list in a list',
      schema: spec({ type: 'array', items: { type: 'array', items: known } }),
      object: '{"spec":[[{"x":1}],[{"a":"x"},{"x":2}]]}',
      kept: '{"spec":[[{}],[{"a":"x"},{}]]}',
      paths: ['spec[0][0].x', 'spec[1][1].x'],
    },
    {
      reason: 'names of inherited properties',
      schema: spec(known),
      object: '{"spec":{"constructor":{"a":1},"__proto__":{"a":1},"toString":1}}',
      kept: '{"spec":{}}',
      paths: ['spec.constructor', 'spec.__proto__', 'spec.toString'],
    },
  ])('$reason', ({ schema, object, kept, paths }) => {
    const value = JSON.parse(object) as JsonObject;
    expect(compileSchemaValidator(schema).prune(value)).toEqual(paths);
    expect(JSON.stringify(value)).toBe(kept);
  });

  test('names the first 100, removes all', () => {
    const object: JsonObject = {
      spec: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x${index}`, 1])),
    };
    expect(compileSchemaValidator(spec(known)).prune(object)).toHaveLength(100);
    expect(object).toEqual({ spec: {} });
  });
});
