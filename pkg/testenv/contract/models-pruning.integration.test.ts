import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, jsonPatch, mergePatch, yamlBody } from './api-call.ts';
import {
  changeDefinition,
  createOrThrow,
  schemaWithSpec,
  register,
  version,
  type Registered,
  type Schema,
} from './models-definition.ts';

let env: TestEnv;

/** One field for each rule; the field’s name says which. */
const properties: Record<string, Schema> = {
  text: { type: 'string' },
  nullable: { type: 'string', nullable: true },
  defaulted: { type: 'string', default: 'd' },
  nullableDefaulted: { type: 'string', nullable: true, default: 'd' },
  nested: {
    type: 'object',
    default: {},
    properties: { inner: { type: 'integer', default: 7 }, other: { type: 'string' } },
  },
  plain: { type: 'object', properties: { inner: { type: 'integer', default: 7 } } },
  list: {
    type: 'array',
    items: { type: 'object', properties: { known: { type: 'string' }, filled: { type: 'boolean', default: false } } },
  },
  map: { type: 'object', additionalProperties: { type: 'object', properties: { known: { type: 'string' } } } },
  free: {
    type: 'object',
    'x-kubernetes-preserve-unknown-fields': true,
    properties: { strict: { type: 'object', properties: { known: { type: 'string' } } } },
  },
  described: {
    type: 'object',
    properties: {
      metadata: {
        type: 'object',
        properties: { known: { type: 'string' }, filled: { type: 'boolean', default: false } },
      },
    },
  },
  either: { 'x-kubernetes-int-or-string': true },
  whole: { type: 'integer', format: 'int64' },
  embedded: {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    properties: { spec: { type: 'object', properties: { known: { type: 'string' } } } },
  },
  embeddedFree: {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  },
};
const always = { defaulted: 'd', nullableDefaulted: 'd', nested: { inner: 7 } };

let model: Registered;
let sequence = 0;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  model = await register(env, { spec: { type: 'object', default: {}, properties } });
});

afterAll(() => env?.stop());

type Fields = Record<string, unknown>;
const embeddedMetadata = { name: 'e', labels: { a: 'b' } };

const rows: [string, Fields, Fields][] = [
  ['nothing: defaults', {}, {}],
  ['an unknown field', { text: 't', bogus: 1 }, { text: 't' }],
  [
    'deeply nested unknown fields',
    { list: [{ known: 'k', bogus: 1 }], map: { m: { known: 'k', bogus: 1 } } },
    { list: [{ known: 'k', filled: false }], map: { m: { known: 'k' } } },
  ],
  ['a map keeps its keys, whatever their names', { map: { 'a/b': {}, bogus: {} } }, { map: { 'a/b': {}, bogus: {} } }],
  ['defaults inside an object only if it exists', { plain: {} }, { plain: { inner: 7 } }],
  [
    'a default does not replace a value',
    { defaulted: '', nested: { inner: 0 } },
    { defaulted: '', nested: { inner: 0 } },
  ],
  ['a null that is not allowed is removed', { text: null }, {}],
  ['a null that is not allowed becomes the default', { defaulted: null, nested: null }, {}],
  ['an allowed null is kept', { nullable: null, nullableDefaulted: null }, { nullable: null, nullableDefaulted: null }],
  [
    'preserved unknown fields, pruned again below a known one',
    { free: { any: { thing: [1, null] }, strict: { known: 'k', bogus: 1 } } },
    { free: { any: { thing: [1, null] }, strict: { known: 'k' } } },
  ],
  [
    'a declared metadata is a field like any other: pruned and defaulted below it',
    { described: { kind: 'Thing', metadata: { known: 'k', name: 'n', labels: { a: 'b' } } } },
    { described: { metadata: { known: 'k', filled: false } } },
  ],
  ['a number or a string: 80', { either: 80 }, { either: 80 }],
  ['a number or a string: "80%"', { either: '80%' }, { either: '80%' }],
  ['the largest integer a double holds exactly', { whole: '9007199254740991' }, { whole: '9007199254740991' }],
  [
    'an embedded object: its metadata pruned, its own fields too',
    {
      embedded: {
        apiVersion: 'v1',
        kind: 'Thing',
        metadata: { ...embeddedMetadata, bogus: 1 },
        spec: { known: 'k', bogus: 1 },
        bogus: 1,
      },
    },
    { embedded: { apiVersion: 'v1', kind: 'Thing', metadata: embeddedMetadata, spec: { known: 'k' } } },
  ],
  [
    'an embedded object with free fields: metadata is pruned too',
    {
      embeddedFree: { apiVersion: 'v1', kind: 'Thing', metadata: { ...embeddedMetadata, bogus: 1 }, data: { any: 1 } },
    },
    { embeddedFree: { apiVersion: 'v1', kind: 'Thing', metadata: embeddedMetadata, data: { any: 1 } } },
  ],
];

/** JSON with the quotes around the whole number removed, for numbers that JavaScript cannot represent. */
const wire = (value: unknown): string => JSON.stringify(value).replaceAll(/"whole":"(-?\d+)"/g, '"whole":$1');
const specText = (text: string): unknown =>
  (JSON.parse(text.replaceAll(/"whole":(-?\d+)/g, '"whole":"$1"')) as { spec: unknown }).spec;
const json = { 'content-type': 'application/json' };

describe('pruned, defaulted and kept', () => {
  test.each(rows)('%s: on create, update, patch, in lists', async (_case, given, expected) => {
    const name = `row-${(sequence += 1)}`;
    const wanted = { ...always, ...expected };
    const created = await call(env, model.path, {
      method: 'POST',
      headers: json,
      body: wire(model.object(name, given)),
    });
    expect([created.status, specText(created.text)]).toEqual([201, wanted]);
    const read = await call(env, `${model.path}/${name}`, { server: 1 });
    expect(specText(read.text)).toEqual(wanted);
    await call(env, `${model.path}/${name}`, { method: 'PUT', body: model.object(name, { text: 'other' }) });
    const put = await call(env, `${model.path}/${name}`, {
      method: 'PUT',
      headers: json,
      body: wire(model.object(name, given)),
    });
    expect([put.status, specText(put.text)]).toEqual([200, wanted]);
    const other = await call(env, model.path, { method: 'POST', body: model.object(`${name}-patched`) });
    expect(other.status).toBe(201);
    const patched = await call(env, `${model.path}/${name}-patched`, {
      method: 'PATCH',
      headers: jsonPatch,
      body: wire([{ op: 'replace', path: '/spec', value: given }]),
    });
    expect([patched.status, specText(patched.text)]).toEqual([200, wanted]);
  });

  test('YAML is treated the same', async () => {
    const body = `apiVersion: ${model.apiVersion}\nkind: Post\nmetadata:\n  name: from-yaml\nspec:\n  text: t\n  bogus: 1\n  either: 80%\n  list:\n  - known: k\n`;
    const created = await call(env, model.path, { method: 'POST', headers: yamlBody, body });
    expect([created.status, created.body.spec]).toEqual([
      201,
      { ...always, text: 't', either: '80%', list: [{ known: 'k', filled: false }] },
    ]);
  });

  test('spec itself may have a default', async () => {
    const created = await createOrThrow(env, model.path, {
      apiVersion: model.apiVersion,
      kind: 'Post',
      metadata: { name: 'no-spec' },
    });
    expect(created.spec).toEqual(always);
  });

  test('a new object has the defaults of its status, whatever status was sent', async () => {
    const phase = { type: 'string', default: 'Pending' };
    const status = { type: 'object', default: {}, properties: { phase } };
    const definition = {
      schema: { type: 'object', properties: { spec: { type: 'object' }, status } },
      definitionVersion: { subresources: { status: {} } },
    };
    const withStatus = await register(env, { group: 'status-defaults.example.com', ...definition });
    const body = withStatus.object('sent', {}, { status: { phase: 'Sent' } });
    const created = await createOrThrow(env, withStatus.path, body);
    expect(created).toMatchObject({ status: { phase: 'Pending' } });
    const applied = await call(env, `${withStatus.path}/applied?fieldManager=test`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: withStatus.object('applied', {}, { status: { phase: 'Sent' } }),
    });
    expect([applied.status, applied.body]).toEqual([201, expect.objectContaining({ status: { phase: 'Pending' } })]);
    for (const { metadata } of [created, applied.body])
      expect(JSON.stringify((metadata as { managedFields?: unknown }).managedFields)).not.toContain('f:status');
  });

  test('unknown fields next to spec and in metadata are pruned', async () => {
    const body = { ...model.object('beside'), extra: 1, metadata: { name: 'beside', extra: 1 } };
    const created = await createOrThrow(env, model.path, body);
    expect(created).not.toHaveProperty('extra');
    expect(created.metadata).not.toHaveProperty('extra');
  });

  test('a merge patch with null restores the default', async () => {
    await createOrThrow(env, model.path, model.object('nulls', { defaulted: 'x', text: 't' }));
    const answer = await call(env, `${model.path}/nulls`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { spec: { defaulted: null, text: null } },
    });
    expect(answer.body.spec).toEqual(always);
  });

  test('strict gives 400 that names every unknown and every duplicate field', async () => {
    const body = JSON.stringify(
      model.object('strict', {
        bogus: 1,
        list: [{ odd: 1 }],
        described: { kind: 'Thing', metadata: { known: 'k', labels: { a: 'b' } } },
      }),
    ).replace('"bogus":1', '"bogus":1,"text":"a","text":"b"');
    const answer = await call(env, `${model.path}?fieldValidation=Strict`, { method: 'POST', headers: json, body });
    expect(answer.status).toBe(400);
    const unknown = ['spec.bogus', 'spec.list[0].odd', 'spec.described.kind', 'spec.described.metadata.labels'].map(
      (field) => `unknown field "${field}"`,
    );
    for (const part of ['strict decoding error', ...unknown, 'duplicate field "spec.text"'])
      expect(answer.body.message).toContain(part);
  });

  test('by default each of these is a warning; Ignore gives none', async () => {
    const body = JSON.stringify(model.object('warned', { bogus: 1, list: [{ odd: 1 }] })).replace(
      '"bogus":1',
      '"bogus":1,"text":"a","text":"b"',
    );
    const warned = await call(env, model.path, { method: 'POST', headers: json, body });
    expect([warned.status, warned.warnings.toSorted()]).toEqual([
      201,
      ['duplicate field "spec.text"', 'unknown field "spec.bogus"', 'unknown field "spec.list[0].odd"'],
    ]);
    const ignored = await call(env, `${model.path}?fieldValidation=Ignore`, {
      method: 'POST',
      headers: json,
      body: body.replace('warned', 'ignored'),
    });
    expect([ignored.status, ignored.warnings]).toEqual([201, []]);
  });

  test.each(['9007199254740993', '9223372036854775807', '-9223372036854775808'])(
    '%s is kept exactly or refused, never rounded',
    async (whole) => {
      const body = wire(model.object(`whole${whole}`.replace('-', 'm'), { whole }));
      const created = await call(env, model.path, { method: 'POST', headers: json, body });
      expect([201, 422]).toContain(created.status);
      if (created.status === 201) expect(specText(created.text)).toMatchObject({ whole });
    },
  );

  test('prototype keys never reach an object', async () => {
    const body = `{"apiVersion":"${model.apiVersion}","kind":"Post","metadata":{"name":"proto"},"spec":{"free":{"__proto__":{"a":1},"constructor":{"prototype":{"b":1}},"ok":1}}}`;
    const answer = await call(env, model.path, { method: 'POST', headers: json, body });
    expect(answer.status).toBeLessThan(500);
    if (answer.status === 201) expect(answer.text).not.toContain('__proto__');
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });
});

test('embedded objects need an apiVersion and a kind', async () => {
  const answer = await call(env, model.path, {
    method: 'POST',
    body: model.object('bare', { embedded: { metadata: {} } }),
  });
  expect(answer.status).toBe(422);
  expect(answer.body.details.causes!.map(({ field }) => field)).toEqual(
    expect.arrayContaining(['spec.embedded.apiVersion', 'spec.embedded.kind']),
  );
});

test('a stored object is pruned and defaulted by the current schema when it is read', async () => {
  const old = await register(env, {
    spec: { type: 'object', properties: { stays: { type: 'string' }, goes: { type: 'string' } } },
  });
  const created = await createOrThrow(env, old.path, old.object('a', { stays: 's', goes: 'g' }));
  await changeDefinition(env, old.definition.metadata.name, ({ spec }) => {
    spec.versions = [
      version(
        'v1',
        schemaWithSpec({
          type: 'object',
          properties: { stays: { type: 'string' }, comes: { type: 'integer', default: 3 } },
        }),
      ),
    ];
  });
  for (const server of [0, 1]) {
    await retryUntilPasses(async () => {
      const one = await call(env, `${old.path}/a`, { server });
      expect(one.body.spec).toEqual({ stays: 's', comes: 3 });
      expect(one.body.metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    });
    const list = await call(env, old.path, { server });
    expect(list.body.items[0]!.spec).toEqual({ stays: 's', comes: 3 });
  }
  const patched = await call(env, `${old.path}/a`, {
    method: 'PATCH',
    headers: mergePatch,
    body: { metadata: { labels: { a: 'b' } } },
  });
  expect([patched.status, patched.body.spec]).toEqual([200, { stays: 's', comes: 3 }]);
});
