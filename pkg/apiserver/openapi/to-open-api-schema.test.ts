import { describe, expect, test } from '@jest/globals';
import { runSync, type JsonObject, type JsonSchema } from '#pkg/apimachinery/index';
import { kubernetesObjectSchema } from './kubernetes-schema.ts';
import { referenceObjectSchema } from './reference-schema.ts';
import { testModel } from './document-test-server.ts';

const kind = { group: 'blog.example.com', version: 'v1', kind: 'Post' };

function field(converted: JsonObject): unknown {
  return (converted['properties'] as Record<string, unknown>)['spec'];
}

function inReference(spec: JsonSchema): unknown {
  return field(runSync(referenceObjectSchema({ type: 'object', properties: { spec } }, 'a Post')));
}

function inKubernetes(spec: JsonSchema): unknown {
  return field(
    runSync(
      kubernetesObjectSchema({ ...testModel().versions[0]!, schema: { type: 'object', properties: { spec } } }, kind),
    ),
  );
}

const cases: { reason: string; spec: JsonSchema; reference: unknown; kubernetes: unknown }[] = [
  {
    reason: 'simple keywords stay',
    spec: { type: 'string', minLength: 1, format: 'date', enum: ['a'], description: 'd' },
    reference: { type: 'string', minLength: 1, format: 'date', enum: ['a'], description: 'd' },
    kubernetes: { type: 'string', minLength: 1, format: 'date', enum: ['a'], description: 'd' },
  },
  {
    reason: 'nullable',
    spec: { type: 'string', nullable: true },
    reference: { type: ['string', 'null'] },
    kubernetes: { type: 'string', nullable: true },
  },
  {
    reason: 'a nullable enum accepts null',
    spec: { type: 'string', nullable: true, enum: ['a'] },
    reference: { type: ['string', 'null'], enum: ['a', null] },
    kubernetes: { type: 'string', nullable: true, enum: ['a'] },
  },
  {
    reason: 'null is accepted next to a combination',
    spec: { type: 'string', nullable: true, not: { enum: ['b'] } },
    reference: { anyOf: [{ type: 'null' }, { type: 'string', not: { enum: ['b'] } }] },
    kubernetes: { type: 'string', nullable: true, not: { enum: ['b'] } },
  },
  {
    reason: 'int-or-string',
    spec: { 'x-kubernetes-int-or-string': true },
    reference: { type: ['integer', 'string'] },
    kubernetes: { 'x-kubernetes-int-or-string': true },
  },
  {
    reason: 'nullable int-or-string',
    spec: { 'x-kubernetes-int-or-string': true, nullable: true },
    reference: { type: ['integer', 'string', 'null'] },
    kubernetes: { 'x-kubernetes-int-or-string': true, nullable: true },
  },
  {
    reason: 'unknown fields kept in an object',
    spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    reference: { type: 'object', additionalProperties: true },
    kubernetes: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
  {
    reason: 'any value at all',
    spec: { 'x-kubernetes-preserve-unknown-fields': true },
    reference: { additionalProperties: true },
    kubernetes: { 'x-kubernetes-preserve-unknown-fields': true },
  },
  {
    reason: 'excluded bounds',
    spec: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false },
    reference: { type: 'number', exclusiveMinimum: 0, maximum: 5 },
    kubernetes: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 5 },
  },
  {
    reason: 'an example',
    spec: { type: 'string', example: 'x' },
    reference: { type: 'string', examples: ['x'] },
    kubernetes: { type: 'string', example: 'x' },
  },
  {
    reason: 'a set of scalars',
    spec: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    reference: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set', uniqueItems: true },
    kubernetes: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
  },
  {
    reason: 'a pattern that both engines support',
    spec: { type: 'string', pattern: '^[a-z]+$' },
    reference: { type: 'string', pattern: '^[a-z]+$' },
    kubernetes: { type: 'string', pattern: '^[a-z]+$' },
  },
  {
    reason: 'a pattern that only RE2 supports',
    spec: { type: 'string', pattern: '(?P<x>a)' },
    reference: { type: 'string', 'x-pattern-re2': '(?P<x>a)' },
    kubernetes: { type: 'string', pattern: '(?P<x>a)' },
  },
  {
    reason: 'keywords of no dialect, especially references, are removed',
    spec: { type: 'string', $ref: '#/secret', foo: 1, format: null } as unknown as JsonSchema,
    reference: { type: 'string' },
    kubernetes: { type: 'string' },
  },
  {
    reason: 'nested schemas are converted',
    spec: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
    reference: { type: 'object', additionalProperties: { type: ['string', 'null'] } },
    kubernetes: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
  },
];

describe.each(cases)('$reason', ({ spec, reference, kubernetes }) => {
  test('in 3.1', () => expect(inReference(spec)).toEqual(reference));
  test('in 3.0', () => expect(inKubernetes(spec)).toEqual(kubernetes));
});

describe('an embedded resource', () => {
  const spec: JsonSchema = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  };

  test('has the fields of an object in 3.1', () => {
    expect(inReference(spec)).toMatchObject({
      required: ['apiVersion', 'kind', 'metadata'],
      properties: { metadata: { allOf: [{ $ref: '#/components/schemas/ObjectMeta' }] } },
      additionalProperties: true,
    });
  });

  test('has the fields of an object in 3.0', () => {
    expect(inKubernetes(spec)).toMatchObject({
      'x-kubernetes-embedded-resource': true,
      properties: { apiVersion: { type: 'string' }, kind: { type: 'string' } },
    });
  });
});

describe('the whole object', () => {
  const schema: JsonSchema = {
    type: 'object',
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', enum: ['blog.example.com/v1'] },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 10 } } },
      spec: { type: 'object' },
    },
  };

  test('has what the schema says about its metadata next to the reference', () => {
    expect(runSync(referenceObjectSchema(schema, 'a Post'))).toEqual({
      description: 'a Post',
      type: 'object',
      required: ['apiVersion', 'kind', 'metadata', 'spec'],
      properties: {
        apiVersion: { type: 'string', enum: ['blog.example.com/v1'], description: expect.any(String) },
        kind: { type: 'string', description: expect.any(String) },
        metadata: {
          description: expect.any(String),
          allOf: [
            { $ref: '#/components/schemas/ObjectMeta' },
            { properties: { name: { type: 'string', maxLength: 10 } } },
          ],
        },
        spec: { type: 'object' },
      },
    });
  });

  test('names its kind and selectable fields for Kubernetes', () => {
    expect(
      runSync(kubernetesObjectSchema({ ...testModel().versions[0]!, schema, selectableFields: ['.spec.slug'] }, kind)),
    ).toMatchObject({
      'x-kubernetes-group-version-kind': [kind],
      'x-kubernetes-selectable-fields': [{ fieldPath: 'spec.slug' }],
      properties: {
        metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] },
      },
    });
  });
});
