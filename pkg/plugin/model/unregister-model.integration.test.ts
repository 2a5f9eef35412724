import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Type } from 'typebox';
import { newServiceUnavailable, type AnyObject, type Client } from '#pkg/apimachinery/index';
import { definitionType } from '#pkg/apis/index';
import { FaultyClient, startTestEnv, type TestEnv } from '#pkg/testenv/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { defineModel, type DefinedModel } from './define-model.ts';
import { index } from './model-index.ts';
import { registerModel } from './register-model.ts';
import { unregisterModel } from './unregister-model.ts';

let env: TestEnv;
let client: Client;
let count = 0;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
});
afterAll(() => env?.stop());

const plugin = 'blog';

function model(version = 'v1', kind = `Kind${(count += 1)}`): DefinedModel {
  return defineModel({
    group: `g${kind.toLowerCase()}.example.com`,
    version,
    kind,
    plural: `${kind.toLowerCase()}s`,
    singular: kind.toLowerCase(),
    spec: Type.Object({ slug: Type.Optional(Type.String()) }),
    indexes: [index('spec.slug', { unique: true })],
  });
}

const nameOf = ({ plural, group }: DefinedModel): string => `${plural}.${group}`;
const pathOf = ({ group, version, plural }: DefinedModel): string => `/apis/${group}/${version}/${plural}`;
const object = ({ group, version, kind }: DefinedModel, name: string, spec = {}): AnyObject => ({
  apiVersion: `${group}/${version}`,
  kind,
  metadata: { name },
  spec,
});
const servedVersions = async (name: string): Promise<[string, boolean][]> =>
  (await client.get(definitionType, { namespace: '', name })).spec.versions.map((each) => [each.name, each.served]);

test('an unregistered model loses its paths, watches and documents at once, on every server; the next registration restores them', async () => {
  const Post = model();
  const path = pathOf(Post);
  await registerModel(client, Post, { plugin });
  const created = await client.create(Post, object(Post, 'a', { slug: 's' }));
  const streams = await Promise.all(
    env.servers.map((server) => server.client.watch(Post, { resourceVersion: created.metadata.resourceVersion })),
  );
  const received = Promise.all(
    streams.map(async (stream) => {
      const events: unknown[] = [];
      for await (const event of stream) events.push(event);
      return events;
    }),
  );
  const overHttp = await env.request(`${path}?watch=true&resourceVersion=${created.metadata.resourceVersion}`, {
    server: 1,
  });

  await unregisterModel(client, nameOf(Post), { plugin });

  expect((await env.request(`${path}/a`)).status).toBe(404);
  expect((await env.request(path, { method: 'POST', body: object(Post, 'b') })).status).toBe(404);
  await pollUntil(async () => (await env.request(path, { server: 1 })).status === 404);
  expect(await received).toEqual([[], []]);
  // The watch ends cleanly, and the next one gets 404.
  expect([overHttp.status, (await overHttp.text()).trim()]).toEqual([200, '']);
  for (const document of [
    '/apis',
    `/apis/${Post.group}`,
    `/apis/${Post.group}/v1`,
    '/openapi/v2',
    '/openapi/v3',
    '/docs/openapi/aggregated.json',
    '/docs/openapi/extension.json',
  ]) {
    expect([document, (await (await env.request(document)).text()).includes(Post.kind)]).toEqual([document, false]);
  }
  expect((await env.request(`/apis/${Post.group}`)).status).toBe(404);

  const back = await registerModel(client, Post, { plugin });
  expect(
    (await client.list(Post, { fieldSelector: 'spec.slug=s' })).items.map(({ metadata }) => [
      metadata.name,
      metadata.uid,
      metadata.resourceVersion,
    ]),
  ).toEqual([['a', created.metadata.uid, created.metadata.resourceVersion]]);
  expect([back.metadata.annotations, await servedVersions(nameOf(Post))]).toEqual([undefined, [['v1', true]]]);
  // The indexes were kept, so nothing is rebuilt.
  expect(back.status?.conditions).toContainEqual(expect.objectContaining({ type: 'IndexesReady', status: 'True' }));
});

test('an unregistered model keeps its names and the values of its unique indexes reserved', async () => {
  const Post = model();
  await registerModel(client, Post, { plugin });
  await client.create(Post, object(Post, 'a', { slug: 's' }));
  await unregisterModel(client, nameOf(Post), { plugin });
  const Rival = defineModel({
    group: Post.group,
    version: 'v1',
    kind: Post.kind,
    plural: 'rivals',
    singular: 'rival',
    spec: Type.Object({}),
  });
  await expect(registerModel(client, Rival, { plugin: 'other' })).rejects.toThrow(`already in use by ${nameOf(Post)}`);
  await expect(registerModel(client, Post, { plugin: 'other' })).rejects.toThrow(`belongs to the plugin ${plugin}`);
  await client.delete(definitionType, { namespace: '', name: nameOf(Rival as DefinedModel) });
  await registerModel(client, Post, { plugin });
  await expect(client.create(Post, object(Post, 'b', { slug: 's' }))).rejects.toMatchObject({ code: 409 });
});

test('the next registration serves the same versions again, and no others', async () => {
  const kind = 'Versioned';
  const [V1, V2, V3] = [model('v1', kind), model('v2', kind), model('v3', kind)];
  for (const each of [V1, V2, V3]) await registerModel(client, each, { plugin });
  const name = nameOf(V1);
  const stored = await client.get(definitionType, { namespace: '', name });
  await client.update(definitionType, {
    ...stored,
    spec: {
      ...stored.spec,
      versions: stored.spec.versions.map((version) => ({ ...version, served: version.name !== 'v1' })),
    },
  });
  await unregisterModel(client, name, { plugin });
  expect(await servedVersions(name)).toEqual([
    ['v1', false],
    ['v2', false],
    ['v3', false],
  ]);
  await registerModel(client, V3, { plugin });
  expect(await servedVersions(name)).toEqual([
    ['v1', false],
    ['v2', true],
    ['v3', true],
  ]);
  // Registered from a newer version of the code only: the other versions are served again too.
  await unregisterModel(client, name, { plugin });
  await registerModel(client, model('v4', kind), { plugin });
  expect(await servedVersions(name)).toEqual([
    ['v1', false],
    ['v2', true],
    ['v3', true],
    ['v4', true],
  ]);
});

describe('does nothing', () => {
  test('the second time, also after a crash in between', async () => {
    const Post = model();
    await registerModel(client, Post, { plugin });
    await unregisterModel(client, nameOf(Post), { plugin });
    const { metadata } = await client.get(definitionType, { namespace: '', name: nameOf(Post) });
    await unregisterModel(client, nameOf(Post), { plugin });
    expect((await client.get(definitionType, { namespace: '', name: nameOf(Post) })).metadata.resourceVersion).toBe(
      metadata.resourceVersion,
    );
  });

  test('to a definition that does not exist, or belongs to another or to nobody', async () => {
    await unregisterModel(client, 'nothings.example.com', { plugin });
    for (const owner of ['other', undefined]) {
      const Post = model();
      await registerModel(client, Post, owner === undefined ? {} : { plugin: owner });
      await unregisterModel(client, nameOf(Post), { plugin });
      await client.list(Post);
    }
  });
});

test('works despite faults, and ends in time if every request fails', async () => {
  for (let seed = 0; seed < 5; seed += 1) {
    const Post = model();
    await registerModel(client, Post, { plugin });
    await unregisterModel(
      new FaultyClient({ client, seed, rates: { unavailable: 0.3, lostAnswer: 0.3, conflict: 0.3 } }),
      nameOf(Post),
      { plugin },
    );
    expect(await servedVersions(nameOf(Post))).toEqual([['v1', false]]);
  }
  const down = new FaultyClient({ client, seed: 1, rates: { unavailable: 1 } });
  await expect(unregisterModel(down, 'a.b', { plugin, timeoutMs: 50 })).rejects.toMatchObject({
    code: 504,
    message: expect.stringMatching(/^the model a\.b could not be taken out of service within 50 ms; at last: /),
  });
  const reason = newServiceUnavailable('leaving');
  await expect(unregisterModel(down, 'a.b', { plugin, signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});
