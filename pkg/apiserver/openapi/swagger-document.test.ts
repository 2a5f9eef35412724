import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isJsonObject, runSync, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { builtinModels } from '#pkg/apis/index';
import type { ServedDocument } from '../discovery/answer-document.ts';
import { MessageWriter } from '../protobuf/message-writer.ts';
import { decodeSwagger } from './decode-swagger.ts';
import { ModelList, realModels, testModel } from './document-test-server.ts';
import { OpenApiDocuments } from './open-api-documents.ts';
import { definitionEntry, documentFields } from './swagger-protobuf.ts';
import { swaggerSchema } from './swagger-schema.ts';

const svcVersion = '2.22.0';
const all = [...builtinModels, ...realModels()];
const documents = new OpenApiDocuments({ registry: new ModelList(all), svcVersion });

function bytesOf({ pieces }: ServedDocument): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
}

async function json(of: OpenApiDocuments): Promise<JsonObject> {
  return JSON.parse(bytesOf(await of.swagger('json')).toString()) as JsonObject;
}

async function protobuf(of: OpenApiDocuments): Promise<JsonObject> {
  return decodeSwagger(bytesOf(await of.swagger('protobuf')));
}

/** Protobuf does not write a value that means the same as an absent one; `decodeSwagger` does not read doubles. */
function asProtobuf(value: JsonValue, isExtension = false): JsonValue {
  if (Array.isArray(value)) return isExtension ? value : value.map((item) => asProtobuf(item));
  if (!isJsonObject(value) || isExtension) return value;
  const kept = Object.entries(value).filter(
    ([name, member]) =>
      (isJsonObject(member) || !['maximum', 'minimum', 'multipleOf'].includes(name)) &&
      member !== '' &&
      member !== 0 &&
      !(Array.isArray(member) && member.length === 0) &&
      (member !== false || name === 'additionalProperties' || name.startsWith('x-')),
  );
  return Object.fromEntries(
    kept.map(([name, member]) => [name, asProtobuf(member, name.startsWith('x-') || name === 'enum')]),
  );
}

function withSchema(schema: JsonSchema): OpenApiDocuments {
  return new OpenApiDocuments({ registry: new ModelList([testModel({}, { schema })]), svcVersion });
}

function definitionIn(document: JsonObject, name = 'com.example.blog.v1.Post'): JsonObject {
  return (document['definitions'] as Record<string, JsonObject>)[name]!;
}

describe('the document of built-in kinds and two real projects', () => {
  test('in protobuf has what it has in JSON', async () => {
    expect(await protobuf(documents)).toEqual(asProtobuf(await json(documents)));
  });

  test('refers to nothing that is absent, and has each kind once', async () => {
    const { swagger, paths, definitions, ...others } = await json(documents);
    expect([swagger, Object.keys(others)]).toEqual(['2.0', ['info']]);
    const text = JSON.stringify({ paths, definitions });
    expect(text.includes('#/components')).toBe(false);
    const names = new Set(Object.keys(definitions as JsonObject));
    for (const [, name] of text.matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) expect(names).toContain(name);
    const kinds = Object.values(definitions as Record<string, JsonObject>)
      .flatMap((definition) => (definition['x-kubernetes-group-version-kind'] as JsonObject[] | undefined) ?? [])
      .map((kind) => JSON.stringify(kind));
    expect(new Set(kinds).size).toBe(kinds.length);
    for (const model of all)
      for (const { name, served } of model.versions)
        if (served)
          expect(kinds).toContain(JSON.stringify({ group: model.group, version: name, kind: model.names.kind }));
  });

  test('has the operations that kubectl looks for', async () => {
    const { paths } = await json(documents);
    const item = (paths as Record<string, Record<string, JsonObject>>)[
      '/api/v1/namespaces/{namespace}/configmaps/{name}'
    ]!;
    expect(item['patch']).toMatchObject({
      consumes: [
        'application/json-patch+json',
        'application/merge-patch+json',
        'application/strategic-merge-patch+json',
        'application/apply-patch+yaml',
      ],
      parameters: expect.arrayContaining([
        { name: 'body', in: 'body', required: true, schema: { type: 'object' } },
        expect.objectContaining({ name: 'dryRun', in: 'query', type: 'string' }),
        expect.objectContaining({ name: 'fieldValidation', in: 'query', type: 'string' }),
      ]),
      responses: { 200: { schema: { $ref: '#/definitions/io.k8s.api.core.v1.ConfigMap' } } },
      'x-kubernetes-action': 'patch',
      'x-kubernetes-group-version-kind': { group: '', version: 'v1', kind: 'ConfigMap' },
    });
    expect(item['delete']!['parameters']).toContainEqual({
      name: 'body',
      in: 'body',
      schema: { $ref: '#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions' },
    });
    expect(item['parameters']).toContainEqual(
      expect.objectContaining({ name: 'namespace', in: 'path', required: true, type: 'string' }),
    );
  });
});

/** Each row was compared with the answer of apiextensions-apiserver 0.36.4. */
const conversions: { reason: string; schema: JsonObject; swagger: JsonObject }[] = [
  {
    reason: 'what Swagger has stays',
    schema: { type: 'string', description: 'd', maxLength: 3, pattern: 'a', enum: ['a'] },
    swagger: { type: 'string', description: 'd', maxLength: 3, pattern: 'a', enum: ['a'] },
  },
  {
    reason: 'what Swagger does not have, and defaults, are dropped',
    schema: { type: 'integer', default: 1, anyOf: [{}], oneOf: [{}], allOf: [{}], not: {} },
    swagger: { type: 'integer' },
  },
  {
    reason: 'a value that may be null has no type and no properties, and is not required',
    schema: {
      type: 'object',
      required: ['a', 'b'],
      properties: { a: { type: 'object', nullable: true, properties: { c: {} } }, b: { type: 'string' } },
    },
    swagger: { type: 'object', required: ['b'], properties: { a: {}, b: { type: 'string' } } },
  },
  {
    reason: 'an object that keeps unknown fields has no type and no properties',
    schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: { type: 'string' } } },
    swagger: { 'x-kubernetes-preserve-unknown-fields': true },
  },
  {
    reason: 'a list that keeps unknown fields, or has no items, has no type',
    schema: {
      type: 'object',
      properties: {
        a: { type: 'array', 'x-kubernetes-preserve-unknown-fields': true, items: { type: 'object' } },
        b: { type: 'array' },
      },
    },
    swagger: { type: 'object', properties: { a: { 'x-kubernetes-preserve-unknown-fields': true }, b: {} } },
  },
  {
    reason: 'a whole number or a text has no type',
    schema: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
    swagger: { 'x-kubernetes-int-or-string': true },
  },
  {
    reason: 'an object without properties is a map',
    schema: { type: 'object', properties: {}, additionalProperties: { type: 'string', nullable: true } },
    swagger: { type: 'object', additionalProperties: {} },
  },
  {
    reason: 'a reference has a description next to it',
    schema: { allOf: [{ $ref: '#/components/schemas/a.B' }], description: 'd', default: {} },
    swagger: { $ref: '#/definitions/a.B', description: 'd' },
  },
];

test.each(conversions)('$reason', ({ schema, swagger }) => {
  expect(runSync(swaggerSchema(schema))).toEqual(swagger);
});

test('a kind that keeps unknown fields at its top has no properties, which kubectl would take for all', async () => {
  const document = await json(withSchema({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }));
  expect(definitionIn(document)).toEqual({
    type: 'object',
    'x-kubernetes-group-version-kind': [{ group: 'blog.example.com', version: 'v1', kind: 'Post' }],
  });
});

describe('texts of a model', () => {
  test('are in protobuf as they are, whatever they contain', () => {
    const texts = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(texts, texts, (name, description) => {
        const schema: JsonObject = { type: 'string', description, enum: [description] };
        const parent: JsonObject = { type: 'object', properties: Object.fromEntries([[name, schema]]) };
        const document = new MessageWriter();
        document.bytes(documentFields.definitions, runSync(definitionEntry(name, parent)));
        expect(decodeSwagger(document.message())).toEqual({ definitions: Object.fromEntries([[name, parent]]) });
      }),
    );
  });

  test('are YAML in protobuf: kubectl reads none of a document with a value that it cannot read', async () => {
    const made = withSchema({
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          enum: [{ ['k'.repeat(2000)]: 1 }, { a: '\u0080\u2028\ufeff\u007f' }],
          'x-kubernetes-map-type': 'atomic',
        },
      },
    });
    const bytes = bytesOf(await made.swagger('protobuf')).toString();
    expect(bytes).toContain(String.raw`{"a":"\u0080\u2028\ufeff\u007f"}`);
    expect(bytes).not.toContain('kkk');
  });
});

test('a document is created again when the models change, and only then', async () => {
  const registry = new ModelList([testModel()]);
  const made = new OpenApiDocuments({ registry, svcVersion });
  const first = await made.swagger('protobuf');
  expect(await made.swagger('protobuf')).toBe(first);
  registry.set([]);
  expect((await made.swagger('protobuf')).hash).not.toBe(first.hash);
  registry.set([{ model: testModel(), terminating: false, fromDefinition: true }]);
  expect((await made.swagger('protobuf')).hash).toBe(first.hash);
  expect((await made.swagger('json')).hash).not.toBe(first.hash);
});
