import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isStatusError, type StatusError } from '#pkg/apimachinery/index';
import { definePosts, newPost, postType, startTestEnv, type Post, type TestEnv } from '../../testenv/index.ts';
import { connect } from '../connect.ts';
import { noFaults, NoisyProxy } from '../webclienttest/noisy-proxy.ts';
import { selectionParams } from './query.ts';
import type { Resource } from './resource.ts';

let env: TestEnv;
let posts: Resource<Post>;
const warnings: string[] = [];
beforeAll(async () => {
  env = await startTestEnv();
  await definePosts(env);
  posts = connect({
    url: env.url,
    credential: () => Promise.resolve(env.token),
    warn: (text) => void warnings.push(text),
  }).resource(postType);
});
afterAll(() => env.stop());

const draft = (name: string, title = 'a title'): { metadata: { name: string }; spec: { title: string } } => {
  const { metadata, spec } = newPost(name, title);
  return { metadata, spec: spec! };
};
const failureOf = (call: Promise<unknown>): Promise<StatusError> =>
  call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => (isStatusError(error) ? error : Promise.reject(error)),
  );

describe('a resource', () => {
  test('creates, reads, changes, applies and removes objects', async () => {
    const created = await posts.create(draft('first'));
    expect(created).toMatchObject({ kind: 'Post', apiVersion: 'test.example.com/v1', spec: { title: 'a title' } });
    expect(await posts.get('first')).toEqual(created);
    expect(created.metadata.managedFields).toBeUndefined();
    expect((await posts.patch('first', { spec: { title: 'patched' } })).spec).toEqual({ title: 'patched' });
    expect((await posts.patch(created.metadata, { status: { words: 2 } }, { status: true })).status).toEqual({
      words: 2,
    });
    const { metadata } = await posts.get('first');
    const updated = await posts.update({ ...draft('first', 'updated'), metadata });
    expect(updated.spec).toEqual({ title: 'updated' });
    const applied = await posts.apply(
      { metadata: { name: 'first' }, spec: { title: 'updated', author: 'mia' } },
      { fieldManager: 'page', force: true },
    );
    expect(applied.spec).toEqual({ title: 'updated', author: 'mia' });
    const { items } = await posts.list({ where: { 'metadata.name': 'first' }, omitManagedFields: false });
    expect(new Set(items[0]?.metadata.managedFields?.map(({ manager }) => manager))).toEqual(
      new Set(['page', 'svc-client']),
    );
    expect(await posts.remove('first', { uid: created.metadata.uid })).toEqual({ uid: created.metadata.uid });
    expect(await failureOf(posts.get('first'))).toMatchObject({ code: 404, reason: 'NotFound' });
  });

  test('a dry run stores nothing', async () => {
    expect((await posts.create(draft('dry'), { dryRun: true })).metadata.name).toBe('dry');
    expect(await failureOf(posts.get('dry'))).toMatchObject({ code: 404 });
    const { metadata } = await posts.create(draft('kept'));
    await posts.remove('kept', { dryRun: true });
    expect((await posts.get('kept')).metadata.uid).toBe(metadata.uid);
    await posts.remove('kept');
  });

  test('failures name the field', async () => {
    const invalid = { metadata: { name: 'x' }, spec: { title: 5 } } as unknown as Post;
    expect(await failureOf(posts.create(invalid))).toMatchObject({
      code: 422,
      reason: 'Invalid',
      details: { causes: [expect.objectContaining({ field: 'spec.title' })] },
      requestId: expect.any(String),
    });
    await posts.create({ ...draft('warned'), spec: { title: 'x', unknown: 1 } as unknown as { title: string } });
    expect(warnings).toEqual(['unknown field "spec.unknown"']);
    await posts.remove('warned');
  });

  test.each(['', '.', '..'])('refuses the name %j, which would be another path', async (name) => {
    expect(await failureOf((async () => posts.get(name))())).toMatchObject({ code: 400 });
  });

  test.each(['..', 'a/b'])('refuses the namespace %j, which no path can have', async (namespace) => {
    const leases = { group: 'coordination.k8s.io', version: 'v1', kind: 'Lease', plural: 'leases', namespaced: true };
    const list = async (): Promise<unknown> =>
      connect({ url: env.url, credential: env.token })
        .resource({ ...leases, hasStatusSubresource: false }, { namespace })
        .list();
    expect(await failureOf(list())).toMatchObject({ code: 400 });
  });

  test('lists a page, a chunk, or each object, by conditions', async () => {
    for (let i = 0; i < 5; i += 1)
      await posts.create({ ...draft(`list-${i}`), metadata: { name: `list-${i}`, labels: { odd: String(i % 2) } } });
    const namesOf = (items: readonly Post[]): string[] => items.map(({ metadata }) => metadata.name);
    const page = await posts.list({ page: 2, size: 2, sort: ['metadata.name,desc'] });
    expect(namesOf(page.items)).toEqual(['list-2', 'list-1']);
    expect(page).toMatchObject({ total: 5, totalPages: 3, hasNext: true });
    const chunk = await posts.list({ limit: 2 });
    expect(chunk.metadata.remainingItemCount).toBe(3);
    expect(namesOf((await posts.list({ where: { 'metadata.name': { in: ['list-0', 'list-3'] } } })).items)).toEqual([
      'list-0',
      'list-3',
    ]);
    expect(
      namesOf(
        (await posts.list({ where: { 'metadata.name': { gt: 'list-1', lte: 'list-3' } }, labels: { odd: '1' } })).items,
      ),
    ).toEqual(['list-3']);
    expect((await posts.list({ labels: { odd: { exists: false } } })).items).toEqual([]);
    const each: string[] = [];
    for await (const { metadata } of posts.each({ limit: 2 })) each.push(metadata.name);
    expect(each).toEqual(['list-0', 'list-1', 'list-2', 'list-3', 'list-4']);
    for (const name of each) await posts.remove(name);
  });

  test('watches from a revision until its signal aborts', async () => {
    const { metadata } = await posts.list();
    const end = new AbortController();
    const seen: string[] = [];
    const watch = await posts.watch({ since: metadata.resourceVersion, signal: end.signal });
    await posts.create(draft('watched'));
    await posts.remove('watched');
    for await (const event of watch) {
      seen.push(event.type);
      if (event.type === 'DELETED') end.abort();
    }
    expect(seen).toEqual(['ADDED', 'DELETED']);
    expect(await failureOf((async () => posts.watch({ since: '0' }))())).toMatchObject({ code: 400 });
  });

  test('its server answers any other path, in the form that is asked for', async () => {
    const server = connect({ url: env.url, credential: env.token });
    await posts.create(draft('listed'));
    const table = await server.read(posts.path, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
      query: selectionParams({ where: { 'metadata.name': 'listed' } }),
    });
    expect(table).toMatchObject({ kind: 'Table', rows: [{ object: { metadata: { name: 'listed' } } }] });
    expect(await failureOf(server.read('/apis/nothing'))).toMatchObject({ code: 404 });
    const body = { apiVersion: 'test.example.com/v1', kind: 'Post', ...draft('sent') };
    expect(await server.send(posts.path, { method: 'POST', body })).toMatchObject({ metadata: { name: 'sent' } });
    await posts.remove('sent');
    expect(await failureOf(server.send('/apis/nothing', { method: 'PUT', body: {} }))).toMatchObject({ code: 405 });
    await posts.remove('listed');
  });

  test('gives up a call when its signal aborts', async () => {
    const end = new AbortController();
    const call = posts.get('first', { signal: end.signal });
    end.abort(new Error('the page has gone'));
    await expect(call).rejects.toThrow('the page has gone');
  });
});

test('a connection with a credential reads no cookie, which a frame without an origin may not', async () => {
  const page = globalThis as { document?: unknown };
  page.document = {
    get cookie(): string {
      throw new Error('refused');
    },
  };
  const sent: (string | undefined)[] = [];
  const inFrame = connect({
    credential: () => undefined,
    fetch: (_url, init) => {
      sent.push(init?.method);
      return Promise.resolve(new Response('{}'));
    },
  });
  try {
    await inFrame.resource(postType).create(draft('x'));
    expect(sent).toEqual(['POST']);
  } finally {
    delete page.document;
  }
});

describe('over a bad network', () => {
  test('a write whose answer is lost is sent again, and happens once', async () => {
    const proxy = await NoisyProxy.start([env.url], 7, { ...noFaults, refused: 0.1, lostAnswer: 0.15 });
    const noisy = connect({ url: proxy.url, credential: env.token }).resource(postType);
    const uids = new Set<string>();
    for (let i = 0; i < 40; i += 1) {
      const { metadata } = await noisy.create({ metadata: { generateName: 'once-' }, spec: { title: 'x' } });
      uids.add(metadata.uid);
    }
    const { items } = await posts.list({ where: { 'metadata.name': { prefix: 'once-' } }, limit: 1000 });
    expect(new Set(items.map(({ metadata }) => metadata.uid))).toEqual(uids);
    expect(uids.size).toBe(40);
    for (const { metadata } of items) await posts.remove(metadata);
    await proxy.stop();
  });

  test('a server that is away is a 503 of this call', async () => {
    const proxy = await NoisyProxy.start([env.url], 1, noFaults);
    const gone = connect({ url: proxy.url, credential: env.token }).resource(postType);
    await proxy.stop();
    expect(await failureOf(gone.get('first'))).toMatchObject({ code: 503, reason: 'ServiceUnavailable' });
  });

  test('a silent server is a 504', async () => {
    const silent = connect({
      credential: 'x',
      timeoutMs: 50,
      fetch: (_url, init) =>
        new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal!.reason))),
    });
    expect(await failureOf(silent.resource(postType).create(draft('x'), { dryRun: true }))).toMatchObject({
      code: 504,
    });
  });
});
