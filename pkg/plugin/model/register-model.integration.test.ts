import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Type } from 'typebox';
import type { Client } from '#pkg/apimachinery/index';
import { definitionType } from '#pkg/apis/index';
import { FaultyClient, startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { defineModel, type DefinedModel, type ObjectOf } from './define-model.ts';
import { computedIndex, index, multiIndex, type ModelIndex } from './model-index.ts';
import { registerModel } from './register-model.ts';

let env: TestEnv;
let client: Client;
let other: Client;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
  other = env.servers[1]!.client;
});
afterAll(() => env?.stop());

const spec = { title: Type.String({ maxLength: 50 }), slug: Type.String(), tags: Type.Array(Type.String()) };
const status = Type.Object({ words: Type.Optional(Type.Integer()) });
const named = (plural: string, kind: string) => ({
  group: 'code.example.com',
  version: 'v1',
  kind,
  plural,
  singular: kind.toLowerCase(),
});

const Post = defineModel({
  ...named('posts', 'Post'),
  spec: Type.Object(spec),
  status,
  indexes: [index('spec.slug', { unique: true }), multiIndex('spec.tags[*]')],
});
type Post = ObjectOf<typeof Post>;
const newPost = (name: string, tags: string[]): Post => ({
  apiVersion: 'code.example.com/v1',
  kind: 'Post',
  metadata: { name },
  spec: { title: name, slug: name, tags },
});

test('a model in code is served when the call returns: typed, validated, indexed, with a status subresource', async () => {
  const definition = await registerModel(client, Post);
  expect(definition.status?.conditions).toContainEqual(
    expect.objectContaining({ type: 'Established', status: 'True' }),
  );
  const created = await client.create(Post, newPost('a', ['x', 'y']));
  await client.create(Post, newPost('b', ['y']));
  await expect(
    client.create(Post, { ...newPost('c', []), spec: { ...newPost('c', []).spec, slug: 'a' } }),
  ).rejects.toThrow(/spec\.slug/);
  await expect(
    client.create(Post, { ...newPost('c', []), spec: { ...newPost('c', []).spec, title: 'x'.repeat(51) } }),
  ).rejects.toMatchObject({ code: 422 });
  const namesOf = async (fieldSelector: string): Promise<string[]> =>
    (await client.list(Post, { fieldSelector })).items.map(({ metadata }) => metadata.name);
  expect(await namesOf('spec.tags=y')).toEqual(['a', 'b']);
  expect(await namesOf('spec.tags=x')).toEqual(['a']);
  expect(await namesOf('spec.slug=b')).toEqual(['b']);
  const patched = await client.patchStatus(
    Post,
    { namespace: '', name: 'a' },
    { type: 'merge', patch: { status: { words: 3 } } },
  );
  expect([patched.status?.words, patched.metadata.generation]).toEqual([3, created.metadata.generation]);
});

test('computed indexes come with the text of their functions, which replaces that of older versions', async () => {
  const model = named('essays', 'Essay');
  const first = defineModel({
    ...model,
    spec: Type.Object({ text: Type.String() }),
    indexes: [computedIndex('words', { key: 'wordCount', type: 'integer' })],
  });
  await expect(registerModel(client, first)).rejects.toThrow(
    new TypeError(
      'the model essays.code.example.com has computed indexes (words), and indexKeys, the text of their functions, was not given',
    ),
  );
  const text = (separator: string): string =>
    `var indexKeys = { wordCount: (o) => o.spec.text.split('${separator}').length };`;
  await expect(registerModel(client, first, { indexKeys: 'var indexKeys = {};' })).rejects.toMatchObject({ code: 422 });
  await registerModel(client, first, { indexKeys: text(' ') });
  await client.create(first, {
    apiVersion: 'code.example.com/v1',
    kind: 'Essay',
    metadata: { name: 'a' },
    spec: { text: 'a b-c' },
  });
  expect((await client.list(first, { fieldSelector: 'words=2' })).items).toHaveLength(1);
  const second = defineModel({
    ...model,
    version: 'v2',
    spec: Type.Object({ text: Type.String() }),
    indexes: [computedIndex('words', { key: 'wordCount', type: 'integer' })],
  });
  const { metadata, spec: stored } = await registerModel(client, second, { indexKeys: text('-') });
  expect(stored.versions.map(({ name, indexKeys }) => [name, indexKeys])).toEqual([
    ['v1', text('-')],
    ['v2', text('-')],
  ]);
  await untilIndexed('essays.code.example.com', metadata.resourceVersion);
  await client.create(second, {
    apiVersion: 'code.example.com/v2',
    kind: 'Essay',
    metadata: { name: 'b' },
    spec: { text: 'a-b-c' },
  });
  expect((await client.list(second, { fieldSelector: 'words=2' })).items.map(({ metadata: { name } }) => name)).toEqual(
    ['a'],
  );
  const again = await registerModel(client, second, { indexKeys: text('-') });
  expect(again.spec).toEqual(stored);
});

describe('registering again', () => {
  test('writes nothing if nothing differs', async () => {
    const first = await registerModel(client, Post);
    const again = await registerModel(client, Post);
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  test('applies additions of the code: a field, an index', async () => {
    const model = named('articles', 'Article');
    const Before = defineModel({ ...model, spec: Type.Object({ title: Type.String() }) });
    await registerModel(client, Before);
    await client.create(Before, {
      apiVersion: 'code.example.com/v1',
      kind: 'Article',
      metadata: { name: 'old' },
      spec: { title: 'old' },
    });
    const After = defineModel({
      ...model,
      spec: Type.Object({ title: Type.String(), year: Type.Optional(Type.Integer({ default: 2000 })) }),
      indexes: [index('spec.title'), index('spec.year')],
    });
    const changed = await registerModel(client, After);
    expect(changed.spec.versions).toMatchObject([{ indexes: [{ name: 'spec.title' }, { name: 'spec.year' }] }]);
    await client.create(After, {
      apiVersion: 'code.example.com/v1',
      kind: 'Article',
      metadata: { name: 'new' },
      spec: { title: 'new', year: 2026 },
    });
    await untilIndexed('articles.code.example.com', changed.metadata.resourceVersion);
    const list = await client.list(After, { fieldSelector: 'spec.year>=2000', sort: ['spec.year,desc'] });
    expect(list.items.map((item) => [item.metadata.name, item.spec.year])).toEqual([
      ['new', 2026],
      ['old', 2000],
    ]);
  });

  test('several times concurrently, on several servers, results in one definition', async () => {
    const model = named('races', 'Race');
    const variant = (indexes: ModelIndex[]): DefinedModel =>
      defineModel({
        ...model,
        spec: Type.Object({ a: Type.Optional(Type.String()), b: Type.Optional(Type.String()) }),
        indexes,
      });
    for (const indexes of [[], [index('spec.a')], [index('spec.a'), index('spec.b')]]) {
      const definitions = await Promise.all(
        [client, other, client, other].map((each) => registerModel(each, variant(indexes))),
      );
      expect(new Set(definitions.map(({ metadata }) => metadata.uid)).size).toBe(1);
      const stored = await client.get(definitionType, { namespace: '', name: 'races.code.example.com' });
      expect(stored.spec.versions[0]?.indexes ?? []).toHaveLength(indexes.length);
    }
    await Promise.all(
      [variant([index('spec.a')]), variant([index('spec.b')])].map((each, i) =>
        registerModel([client, other][i]!, each),
      ),
    );
  });

  test('a new version becomes the storage version, and the old one is kept', async () => {
    const model = named('notes', 'Note');
    const V1 = defineModel({ ...model, spec: Type.Object({ text: Type.String() }) });
    const V2 = defineModel({
      ...model,
      version: 'v2',
      spec: Type.Object({ text: Type.String(), colour: Type.Optional(Type.String()) }),
    });
    await registerModel(client, V1);
    await client.create(V1, {
      apiVersion: 'code.example.com/v1',
      kind: 'Note',
      metadata: { name: 'a' },
      spec: { text: 'hello' },
    });
    const { spec: stored, metadata } = await registerModel(client, V2);
    expect(stored.versions.map(({ name, storage }) => [name, storage])).toEqual([
      ['v1', false],
      ['v2', true],
    ]);
    expect((await registerModel(other, V2)).metadata.resourceVersion).toBe(metadata.resourceVersion);
    expect((await client.get(V2, { namespace: '', name: 'a' })).spec.text).toBe('hello');
    expect((await client.get(V1, { namespace: '', name: 'a' })).spec.text).toBe('hello');
  });

  test('waits for a definition that is being deleted, and recreates it', async () => {
    const Gone = defineModel({ ...named('gones', 'Gone'), spec: Type.Object({}) });
    const first = await registerModel(client, Gone);
    const held = await client.create(Gone, {
      apiVersion: 'code.example.com/v1',
      kind: 'Gone',
      metadata: { name: 'a', finalizers: ['example.com/hold'] },
      spec: {},
    });
    await client.delete(definitionType, { namespace: '', name: 'gones.code.example.com' });
    const again = registerModel(client, Gone);
    await client.patch(
      Gone,
      { namespace: '', name: held.metadata.name },
      { type: 'merge', patch: { metadata: { finalizers: null } } },
    );
    expect((await again).metadata.uid).not.toBe(first.metadata.uid);
    expect((await client.list(Gone)).items).toEqual([]);
  });
});

test('a model is registered once and correctly despite faults', async () => {
  const rates = { unavailable: 0.3, lostAnswer: 0.3, conflict: 0.3, droppedWatch: 0.5, expired: 0.5 };
  const model = named('hardies', 'Hardy');
  for (let seed = 1; seed <= 4; seed += 1) {
    const indexes = [index('spec.a', { name: `a${seed}` })];
    const Hardy = defineModel({ ...model, spec: Type.Object({ a: Type.Optional(Type.String()) }), indexes });
    const definition = await registerModel(new FaultyClient({ client, seed, rates }), Hardy);
    expect(definition.spec.versions[0]?.indexes).toEqual([{ name: `a${seed}`, path: 'spec.a', type: 'string' }]);
  }
});

describe('a model that cannot be registered', () => {
  test('belongs to another plugin; one of a user is adopted', async () => {
    const Owned = defineModel({ ...named('owneds', 'Owned'), spec: Type.Object({}) });
    await registerModel(client, Owned);
    const { metadata } = await registerModel(client, Owned, { plugin: 'blog' });
    expect(metadata.labels).toEqual({ 'svc.run/plugin': 'blog' });
    expect((await registerModel(client, Owned, { plugin: 'blog' })).metadata.resourceVersion).toBe(
      metadata.resourceVersion,
    );
    await expect(registerModel(client, Owned, { plugin: 'shop' })).rejects.toMatchObject({
      code: 409,
      message: 'the model owneds.code.example.com belongs to the plugin blog',
    });
    await expect(registerModel(client, Owned)).rejects.toThrow('belongs to the plugin blog');
  });

  test('has a name of another, whose first owner is named', async () => {
    await registerModel(
      client,
      defineModel({ ...named('firsts', 'First'), shortNames: ['fi'], spec: Type.Object({}) }),
    );
    const Second = defineModel({ ...named('seconds', 'First'), singular: 'second', spec: Type.Object({}) });
    await expect(registerModel(client, Second)).rejects.toMatchObject({
      code: 409,
      message:
        'the model seconds.code.example.com is not served under its names: "First" is already in use by firsts.code.example.com',
    });
    await expect(registerModel(other, Second)).rejects.toThrow('already in use by firsts.code.example.com');
    const Third = defineModel({ ...named('thirds', 'Third'), shortNames: ['fi'], spec: Type.Object({}) });
    await expect(registerModel(client, Third)).rejects.toThrow('"fi" is already in use by firsts.code.example.com');
  });

  test('has a change that the server refuses', async () => {
    const model = named('fixed', 'Fixed');
    await registerModel(client, defineModel({ ...model, spec: Type.Object({}) }));
    await expect(
      registerModel(client, defineModel({ ...model, namespaced: true, spec: Type.Object({}) })),
    ).rejects.toMatchObject({ code: 422, message: expect.stringContaining('spec.scope') });
    const wrongDefault = defineModel({
      ...model,
      spec: Type.Object({ a: Type.String({ maxLength: 1, default: 'aa' }) }),
    });
    await expect(registerModel(client, wrongDefault)).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining('properties[a].default'),
    });
  });

  test('times out, or is aborted', async () => {
    const Held = defineModel({ ...named('helds', 'Held'), spec: Type.Object({}) });
    await registerModel(client, Held);
    const held = await client.create(Held, {
      apiVersion: 'code.example.com/v1',
      kind: 'Held',
      metadata: { name: 'a', finalizers: ['example.com/hold'] },
      spec: {},
    });
    await client.delete(definitionType, { namespace: '', name: 'helds.code.example.com' });
    await expect(registerModel(client, Held, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 504,
      message: 'the model helds.code.example.com was not served within 50 ms',
    });
    const abort = new AbortController();
    const waiting = registerModel(client, Held, { signal: abort.signal });
    abort.abort();
    await expect(waiting).rejects.toMatchObject({ code: 504 });
    await expect(registerModel(client, Held, { signal: abort.signal })).rejects.toMatchObject({ code: 504 });
    await client.patch(
      Held,
      { namespace: '', name: held.metadata.name },
      { type: 'merge', patch: { metadata: { finalizers: null } } },
    );
  });
});

async function untilIndexed(name: string, resourceVersion: string): Promise<void> {
  const isReady = (conditions: { type: string; status: string }[] = []): boolean =>
    conditions.some(({ type, status: state }) => type === 'IndexesReady' && state === 'True');
  if (isReady((await client.get(definitionType, { namespace: '', name })).status?.conditions)) return;
  const stream = await client.watch(definitionType, { resourceVersion, fieldSelector: `metadata.name=${name}` });
  for await (const event of stream) {
    if (event.type !== 'BOOKMARK' && isReady(event.object.status?.conditions)) return;
  }
}
