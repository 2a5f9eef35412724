import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatusError, type Client, type Fence, type WriteOptions } from '#pkg/apimachinery/index';
import { definePosts, FaultyClient, newPost, postType, startTestEnv, type TestEnv } from '../../testenv/index.ts';
import type { Log } from '../log.ts';
import { Cache } from './cache.ts';
import { CachedClient } from './cached-client.ts';
import { ScriptedApi, scriptedObject, scriptedType } from './scripted-api.ts';

const silent: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let env: TestEnv;
let client: Client;
let cache: Cache;
let cached: CachedClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = env.servers[0]!.client;
  await definePosts(env);
  // A cache with frequent delays and interrupted watches.
  cache = new Cache({
    client: new FaultyClient({ client, seed: 1, rates: { delayedEvent: 0.7, droppedWatch: 0.1 } }),
    log: silent,
  });
  cached = new CachedClient({ client, cache });
  cache.informerFor(postType);
  cache.start();
  expect(await cache.waitForSync(AbortSignal.timeout(60_000))).toEqual([]);
});
afterAll(async () => {
  await cache.stop();
  await env.stop();
});

test('reads its own writes, even if the cache is behind', async () => {
  const key = { namespace: '', name: 'own' };
  await cached.create(postType, newPost('own', 'title 0'));
  for (let i = 1; i <= 20; i += 1) {
    await cached.patch(postType, key, { type: 'merge', patch: { spec: { title: `title ${i}` } } });
    expect((await cached.get(postType, key)).spec!.title).toBe(`title ${i}`);
    await cached.patchStatus(postType, key, { type: 'merge', patch: { status: { words: i } } });
    expect((await cached.list(postType)).items.find(({ metadata }) => metadata.name === 'own')?.status?.words).toBe(i);
  }
  await cached.delete(postType, key);
  await expect(cached.get(postType, key)).rejects.toMatchObject({ code: 404 });
});

test('waits for nothing after a write that changed nothing, a dry run, and a failed write', async () => {
  const present = await cached.create(postType, newPost('quiet'));
  await cached.update(postType, present);
  await cached.update(postType, { ...present, spec: { title: 'never' } }, { dryRun: true });
  await expect(cached.create(postType, newPost('quiet'))).rejects.toMatchObject({ code: 409 });
  await cached.catchUp(AbortSignal.timeout(60_000));
  expect((await cached.get(postType, { namespace: '', name: 'quiet' })).spec!.title).toBe('a title');
});

test('reads the result of a write whose response was lost, even if the cache is behind', async () => {
  const lossy = new CachedClient({ client: new FaultyClient({ client, seed: 2, rates: { lostAnswer: 1 } }), cache });
  const key = { namespace: '', name: 'lost' };
  await expect(lossy.create(postType, newPost('lost', 'title 0'))).rejects.toMatchObject({ code: 503 });
  for (let i = 1; i <= 10; i += 1) {
    await expect(
      lossy.patch(postType, key, { type: 'merge', patch: { spec: { title: `title ${i}` } } }),
    ).rejects.toMatchObject({ code: 503 });
    expect((await lossy.get(postType, key)).spec!.title).toBe(`title ${i}`);
  }
  await expect(lossy.delete(postType, key)).rejects.toMatchObject({ code: 503 });
  await expect(lossy.get(postType, key)).rejects.toMatchObject({ code: 404 });
});

test('still reads after the response that names the created object was lost', async () => {
  const lossy = new CachedClient({ client: new FaultyClient({ client, seed: 2, rates: { lostAnswer: 1 } }), cache });
  const { apiVersion, kind, spec } = newPost('');
  const unnamed = { apiVersion, kind, metadata: { generateName: 'lost-' }, spec } as unknown as ReturnType<
    typeof newPost
  >;
  await expect(lossy.create(postType, unnamed)).rejects.toMatchObject({ code: 503 });
  await lossy.catchUp(AbortSignal.timeout(60_000));
  await expect(lossy.get(postType, { namespace: '', name: 'absent' })).rejects.toMatchObject({ code: 404 });
});

test('asks the API for types without a cache, and for requests that a cache cannot answer', async () => {
  const namespace = {
    group: '',
    version: 'v1',
    kind: 'Namespace',
    plural: 'namespaces',
    namespaced: false,
    hasStatusSubresource: true,
  };
  expect((await cached.get(namespace, { namespace: '', name: 'default' })).metadata.name).toBe('default');
  await cached.create(postType, newPost('labelled', 'a title', { labels: { seen: 'yes' } }));
  expect(
    (await cached.list(postType, { labelSelector: 'seen=yes' })).items.map(({ metadata }) => metadata.name),
  ).toEqual(['labelled']);
});

test('lists one namespace or all from the cache', async () => {
  const type = { ...scriptedType, namespaced: true };
  const objects = ['a', 'b', 'a'].map((namespace, i) => {
    const object = scriptedObject(`n-${i}`, i + 1);
    return { ...object, metadata: { ...object.metadata, namespace } };
  });
  const api = new ScriptedApi({ lists: [{ resourceVersion: '9', items: objects }], watches: [{ end: 'open' }] });
  const small = new Cache({ client: api.client, log: silent });
  small.informerFor(type);
  small.start();
  await small.waitForSync(AbortSignal.timeout(60_000));
  const reader = new CachedClient({ client: api.client as Client, cache: small });
  const names = async (namespace?: string): Promise<string[]> =>
    (await reader.list(type, namespace === undefined ? {} : { namespace })).items.map(({ metadata }) => metadata.name);
  expect(await names('a')).toEqual(['n-0', 'n-2']);
  expect(await names()).toEqual(['n-0', 'n-1', 'n-2']);
  expect(api.asked).toEqual(['list', '9']);
  await small.stop();
});

test('stops waiting for a lagging cache when its caller aborts', async () => {
  const behind = new Cache({ client, log: silent });
  const slow = new CachedClient({ client, cache: behind });
  // Never started: it does not see the write.
  behind.informerFor(postType);
  await slow.create(postType, newPost('unseen'));
  // Before that cache has synced, other callers read from the API.
  expect(
    (await new CachedClient({ client, cache: behind }).get(postType, { namespace: '', name: 'unseen' })).metadata.name,
  ).toBe('unseen');
  const abort = new AbortController();
  const waiting = slow.catchUp(abort.signal);
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  await behind.stop();
});

test('adds its fence and its field manager to every write', async () => {
  const fence: Fence = { namespace: 'default', lease: 'a', transitions: 3 };
  const seen: (WriteOptions | undefined)[] = [];
  const note = <Result>(options: WriteOptions | undefined, result: Result): Promise<Result> => {
    seen.push(options);
    return Promise.resolve(result);
  };
  const object = await client.create(postType, newPost('fenced'));
  const noting: Client = {
    get: () => Promise.reject(new Error('not asked')),
    list: () => Promise.reject(new Error('not asked')),
    watch: () => Promise.reject(new Error('not asked')),
    create: (_type, given, options) => note(options, { ...given, metadata: object.metadata }),
    update: (_type, given, options) => note(options, { ...given, metadata: object.metadata }),
    updateStatus: (_type, given, options) => note(options, { ...given, metadata: object.metadata }),
    patch: (_type, _key, _patch, options) => note(options, object as never),
    patchStatus: (_type, _key, _patch, options) => note(options, object as never),
    apply: (_type, _configuration, options) => note(options, object as never),
    applyStatus: (_type, _configuration, options) => note(options, object as never),
    delete: (_type, _key, options) => note(options, { uid: 'u' }),
  };
  const fieldManager = 'blog/counter';
  const fenced = new CachedClient({
    client: noting,
    cache: new Cache({ client, log: silent }),
    fence: () => fence,
    fieldManager,
  });
  const key = { namespace: '', name: 'fenced' };
  const patch = { type: 'merge' as const, patch: {} };
  await fenced.create(postType, object);
  await fenced.update(postType, object);
  await fenced.updateStatus(postType, object);
  await fenced.patch(postType, key, patch);
  await fenced.patchStatus(postType, key, patch);
  await fenced.apply(postType, object, { force: true });
  await fenced.applyStatus(postType, object);
  await fenced.delete(postType, key);
  const added = { fence, fieldManager };
  expect(seen).toEqual([added, added, added, added, added, { ...added, force: true }, added, added]);
  const ofCall = { fence: { ...fence, lease: 'b' }, fieldManager: 'other' };
  await fenced.update(postType, object, ofCall);
  expect(seen.at(-1)).toEqual(ofCall);
});

test('returns failures as the server sends them', async () => {
  const failure = await cached.get(postType, { namespace: '', name: 'nobody' }).catch((error: unknown) => error);
  expect(isStatusError(failure, 'NotFound')).toBe(true);
});
