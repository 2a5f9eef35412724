import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, type ContractClient } from './client.ts';
import { article, articles, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
afterAll(() => env.stop());

describe('POST', () => {
  test('returns 201, Location and the object as a later read returns it', async () => {
    const created = await client.post(
      articles,
      article('made', { title: 'a' }, { labels: { a: 'b' }, annotations: { c: 'd' } }),
    );
    expect(created.status).toBe(201);
    expect(new URL(created.headers.get('location')!, env.url).pathname).toBe(`${articles}/made`);
    expect(created.body).toMatchObject({
      ...article('made', { title: 'a' }),
      metadata: { name: 'made', labels: { a: 'b' }, annotations: { c: 'd' }, generation: 1 },
    });
    expect((await client.get(`${articles}/made`)).body).toEqual(created.body);
    expect((await client.get(created.headers.get('location')!.replace(env.url, ''))).status).toBe(200);
  });

  test('of an existing object is 409 AlreadyExists', async () => {
    await client.post(articles, article('twice', { title: 'a' }));
    const { status, body } = await client.post(articles, article('twice', { title: 'b' }));
    expect(status).toBe(409);
    expect(body).toMatchObject({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      reason: 'AlreadyExists',
      message: 'articles.contract.example.com "twice" already exists',
      details: { name: 'twice', group: 'contract.example.com', kind: 'articles' },
      code: 409,
    });
    expect((await client.get(`${articles}/twice`)).body.spec).toEqual({ title: 'a' });
  });

  test('creates one object if concurrent requests have one name', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => client.post(articles, article('race', { priority: i }))),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array.from({ length: 11 }, () => 409),
    ]);
  });

  test('works without spec if the model does not require it', async () => {
    const { spec: _, ...bare } = article('bare');
    expect((await client.post(articles, bare)).status).toBe(201);
  });
});

describe('GET one', () => {
  test('returns an ETag that is the resource version', async () => {
    const created = await client.post(articles, article('etag'));
    const { status, headers, body } = await client.get(`${articles}/etag`);
    expect([status, headers.get('etag'), headers.get('content-type')]).toEqual([
      200,
      `"${body.metadata.resourceVersion}"`,
      expect.stringMatching(/^application\/json/),
    ]);
    expect(body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
  });

  test('If-None-Match gives 304 while it is unchanged', async () => {
    await client.post(articles, article('cached'));
    const etag = (await client.get(`${articles}/cached`)).headers.get('etag')!;
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const { status, text, headers } = await client.get(`${articles}/cached`, { 'if-none-match': tag });
      expect([tag, status, text, headers.get('etag')]).toEqual([tag, 304, '', etag]);
    }
    expect((await client.get(`${articles}/cached`, { 'if-none-match': '"other"' })).status).toBe(200);
    for (const malformed of ['', etag.replaceAll('"', ''), '"']) {
      expect([200, 400]).toContain((await client.get(`${articles}/cached`, { 'if-none-match': malformed })).status);
    }
    await client.patch(`${articles}/cached`, { spec: { title: 'changed' } });
    expect((await client.get(`${articles}/cached`, { 'if-none-match': etag })).status).toBe(200);
  });

  test('If-None-Match of a missing object is 404', async () => {
    expect((await client.get(`${articles}/absent`, { 'if-none-match': '*' })).status).toBe(404);
  });

  test('HEAD returns only the headers', async () => {
    await client.post(articles, article('head'));
    const { status, text } = await client.send('HEAD', `${articles}/head`);
    expect([200, 405]).toContain(status);
    expect(text).toBe('');
  });

  test('a name may be percent-encoded or not', async () => {
    await client.post(articles, article('plain'));
    expect((await client.get(`${articles}/%70lain`)).status).toBe(200);
    for (const path of ['%2e%2e', 'a%2Fb', '%00', 'a%ff', '%', 'PLAIN', 'n'.repeat(3000)]) {
      const { status } = await client.get(`${articles}/${path}`);
      expect([path, [400, 404, 414, 422].includes(status)]).toEqual([path, true]);
    }
  });
});
