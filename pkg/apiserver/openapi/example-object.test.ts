import { describe, expect, test } from '@jest/globals';
import type { JsonSchema } from '#pkg/apimachinery/index';
import { compileSchemaValidator } from '../schema/schema-validator.ts';
import { exampleObject } from './example-object.ts';

const kind = { group: 'blog.example.com', version: 'v1', kind: 'Post' };
const whole = { apiVersion: 'blog.example.com/v1', kind: 'Post', metadata: { name: 'example' } };

function object(properties: Record<string, JsonSchema>, required: string[] = []): JsonSchema {
  return { type: 'object', required, properties };
}

const cases: { reason: string; spec: JsonSchema; example: unknown }[] = [
  {
    reason: 'an example has priority over a default, a default over an enum',
    spec: object({
      a: { type: 'string', example: 'e', default: 'd' },
      b: { type: 'string', default: 'd', enum: ['x', 'd'] },
      c: { type: 'string', enum: ['x'] },
    }),
    example: { a: 'e', b: 'd', c: 'x' },
  },
  {
    reason: 'scalar fields are included',
    spec: object({ title: { type: 'string' }, count: { type: 'integer' }, open: { type: 'boolean' } }),
    example: { title: 'string', count: 1, open: true },
  },
  {
    reason: 'optional fields that are not scalar are left out',
    spec: object({ deep: object({}), list: { type: 'array', items: {} }, slug: { type: 'string', pattern: '^x$' } }),
    example: {},
  },
  {
    reason: 'required fields are included',
    spec: object(
      {
        deep: object({ a: { type: 'string' } }, ['a']),
        tags: { type: 'array', items: { type: 'string' }, minItems: 2 },
      },
      ['deep', 'tags'],
    ),
    example: { deep: { a: 'string' }, tags: ['string', 'string'] },
  },
  {
    reason: 'lengths hold',
    spec: object({
      short: { type: 'string', maxLength: 3 },
      long: { type: 'string', minLength: 8 },
      none: { type: 'string', maxLength: 0 },
    }),
    example: { short: 'str', long: 'stringxx', none: '' },
  },
  {
    reason: 'bounds hold',
    spec: object({
      a: { type: 'integer', minimum: 5 },
      b: { type: 'integer', maximum: -1 },
      c: { type: 'integer', minimum: 1, exclusiveMinimum: true },
      d: { type: 'integer', minimum: 4, multipleOf: 5 },
    }),
    example: { a: 5, b: -1, c: 2, d: 5 },
  },
  {
    reason: 'timestamps are timestamps',
    spec: object({ at: { type: 'string', format: 'date-time' } }, ['at']),
    example: { at: '2026-01-01T00:00:00Z' },
  },
  {
    reason: 'int-or-string',
    spec: object({ port: { 'x-kubernetes-int-or-string': true } }, ['port']),
    example: { port: 1 },
  },
  {
    reason: 'alternatives are not combined',
    spec: {
      ...object({ a: { type: 'string' }, b: { type: 'string' } }),
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
    example: {},
  },
];

describe.each(cases)('$reason', ({ spec, example }) => {
  const schema: JsonSchema = { type: 'object', properties: { spec, status: object({ phase: { type: 'string' } }) } };

  test('has the expected example', () =>
    expect(exampleObject(schema, kind, 'Cluster')).toEqual({ ...whole, spec: example }));

  if (spec.oneOf === undefined)
    test('has an example that is valid under the schema', () =>
      expect(compileSchemaValidator(schema).validate(exampleObject(schema, kind, 'Cluster'))).toEqual([]));
});

test('an example of a namespaced object has a namespace', () => {
  expect(exampleObject({ type: 'object' }, kind, 'Namespaced')['metadata']).toEqual({
    name: 'example',
    namespace: 'default',
  });
});

test('an example is small, however large and deep the schema is', () => {
  let deep: JsonSchema = { type: 'string' };
  for (let level = 0; level < 90; level += 1) deep = object({ next: deep }, ['next']);
  const wide = object(
    Object.fromEntries(
      Array.from({ length: 5000 }, (_, index) => [`f${index}`, { type: 'string' } satisfies JsonSchema]),
    ),
  );
  const text = JSON.stringify(
    exampleObject({ type: 'object', required: ['deep', 'wide'], properties: { deep, wide } }, kind, 'Cluster'),
  );
  expect(text.length).toBeLessThan(3000);
});
