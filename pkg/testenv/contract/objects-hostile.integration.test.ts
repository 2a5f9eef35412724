import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, names, withQuery, type ContractClient } from './client.ts';
import { article, articles, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await client.post(articles, article('kept', { title: 'kept' }));
});
afterEach(async () => expect((await client.get('/livez')).status).toBe(200));
afterAll(() => env.stop());

describe('warnings', () => {
  test('of thousands of unknown fields give a readable answer', async () => {
    const bogus = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`bogus-${i}-${'x'.repeat(50)}`, 1]));
    const { status, headers, body } = await client.post(articles, article('warned', { title: 'a', ...bogus }));
    expect([status, body.spec, headers.has('warning')]).toEqual([201, { title: 'a' }, true]);
    expect((await client.post(`${articles}?fieldValidation=Strict`, article('warned-2', bogus))).status).toBe(400);
  });

  test.each(['a"b', 'a\\', 'a\r\nX-Evil: 1', 'größe 😀', '\u0001', '\u2028', ' '])(
    'of the field %j stay in their header',
    async (field) => {
      const { status, headers } = await client.post(`${articles}?dryRun=All`, article('odd', { [field]: 1 }));
      expect([201, 400]).toContain(status);
      expect(headers.has('x-evil')).toBe(false);
    },
  );
});

describe('many', () => {
  test('wrong values give an answer of limited size in limited time', async () => {
    const started = Date.now();
    const { status, text } = await client.post(
      articles,
      article('wrong', { tags: Array.from({ length: 90_000 }, () => 1) }),
    );
    expect(status).toBe(422);
    expect(text.length).toBeLessThan(4 * 1024 * 1024);
    expect(Date.now() - started).toBeLessThan(20_000);
  });

  test.each([
    [
      'labels',
      () =>
        article(
          'many-labels',
          {},
          { labels: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, 'v'])) },
        ),
    ],
    ['tags', () => article('many-tags', { tags: Array.from({ length: 50_000 }, (_, i) => `tag-${i}`) })],
    [
      'finalizers',
      () =>
        article('many-finalizers', {}, { finalizers: Array.from({ length: 10_000 }, (_, i) => `example.com/f${i}`) }),
    ],
    [
      'keys',
      () =>
        article('many-keys', { extra: Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i])) }),
    ],
  ])('%s are accepted or refused', async (_, body) => {
    const { status } = await client.post(articles, body());
    expect([201, 413, 422]).toContain(status);
  });

  test('JSON patch operations are accepted or refused', async () => {
    const patch = Array.from({ length: 30_000 }, (_, i) => ({ op: 'add', path: '/spec/tags/0', value: `t${i}` }));
    const { status } = await client.patch(
      `${articles}/kept`,
      [{ op: 'add', path: '/spec/tags', value: [] }, ...patch],
      jsonPatch,
    );
    expect([200, 400, 413, 422]).toContain(status);
  });

  test('copies that double are refused before they fill the memory', async () => {
    const patch = [
      { op: 'add', path: '/spec/extra', value: { a: 'x'.repeat(1000) } },
      ...Array.from({ length: 40 }, (_, i) => ({ op: 'copy', from: '/spec/extra', path: `/spec/extra/c${i}` })),
    ];
    expect([400, 413, 422]).toContain((await client.patch(`${articles}/kept`, patch, jsonPatch)).status);
    expect((await client.get(`${articles}/kept`)).body.spec).not.toHaveProperty('extra');
  });

  test('large objects give a complete list', async () => {
    const body = 'x'.repeat(1024 * 1024);
    for (let i = 0; i < 12; i += 1)
      await client.post(articles, article(`large-${i}`, { body }, { labels: { large: 'yes' } }));
    const list = await client.get(`${articles}?labelSelector=large`);
    expect([list.status, list.body.items.length, list.body.total]).toEqual([200, 12, 12]);
    const page = await client.get(`${articles}?labelSelector=large&page=2&size=5`);
    expect([page.status, page.body.items.length, page.body.total]).toEqual([200, 5, 12]);
    await client.delete(`${articles}?labelSelector=large`);
  });
});

describe('values of an index', () => {
  test('are measured in bytes', async () => {
    expect((await client.post(articles, article('bytes-1000', { slug: '😀'.repeat(250) }))).status).toBe(201);
    expect((await client.post(articles, article('bytes-1200', { slug: '😀'.repeat(300) }))).status).toBe(422);
    expect((await client.patch(`${articles}/kept`, { spec: { slug: '😀'.repeat(300) } })).status).toBe(422);
  });

  test('count once if they are twice in one list', async () => {
    await client.post(articles, article('double', { tags: ['twice', 'twice', 'thrice'] }));
    for (const fieldSelector of ['tags=twice', 'tags=(twice,thrice)', 'tags=twice,tags=thrice']) {
      const { body } = await client.get(withQuery(articles, { fieldSelector, page: '1' }));
      expect([body.items.length, body.total]).toEqual([1, 1]);
    }
  });

  test('may be empty', async () => {
    await client.post(articles, article('empty', { slug: '', tags: [''] }));
    expect(names(await client.get(`${articles}?fieldSelector=slug%3D`))).toEqual(['empty']);
    expect(names(await client.get(`${articles}?fieldSelector=tags%3D`))).toEqual(['empty']);
    expect((await client.post(articles, article('empty-2', { slug: '' }))).status).toBe(409);
  });
});

test('a client that disconnects within a body or an answer does not affect others', async () => {
  for (let i = 0; i < 10; i += 1) {
    const abort = new AbortController();
    const stream = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"apiVersion":')),
    });
    const init = {
      method: 'POST',
      body: stream,
      duplex: 'half',
      signal: abort.signal,
      headers: { authorization: `Bearer ${env.token}`, 'content-type': 'application/json' },
    };
    const post = fetch(`${env.url}${articles}`, init as RequestInit).catch(() => undefined);
    const list = env.request(articles, { signal: abort.signal }).catch(() => undefined);
    await client.get('/livez');
    abort.abort();
    await Promise.all([post, list]);
  }
  expect((await client.get(articles)).status).toBe(200);
});
