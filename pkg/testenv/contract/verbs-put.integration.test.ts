import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, type ContractClient, type WireBody } from './client.ts';
import { article, articles, registerModels } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let client: ContractClient;
let stored: WireBody;
let count = 0;
let path = '';
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
beforeEach(async () => {
  const { body } = await client.post(articles, article(`put-${(count += 1)}`, { title: 'a' }, { labels: { a: 'b' } }));
  stored = body;
  path = `${articles}/${body.metadata.name}`;
});
afterAll(() => env.stop());

const changed = (metadata: Record<string, unknown> = {}, spec: Record<string, unknown> = { title: 'b' }) =>
  article(stored.metadata.name, spec, metadata);

describe('PUT', () => {
  test('without resourceVersion replaces unconditionally', async () => {
    await client.patch(path, { spec: { title: 'between', priority: 1 } });
    const { status, body } = await client.put(path, changed());
    expect([status, body.spec, body.metadata.labels]).toEqual([200, { title: 'b' }, undefined]);
    expect((await client.get(path)).body).toEqual(body);
  });

  test('with the current resourceVersion replaces', async () => {
    const { status, body } = await client.put(path, changed({ resourceVersion: stored.metadata.resourceVersion }));
    expect(status).toBe(200);
    expect(BigInt(body.metadata.resourceVersion)).toBeGreaterThan(BigInt(stored.metadata.resourceVersion));
  });

  test('with a stale resourceVersion is 409', async () => {
    await client.put(path, changed());
    const { status, body } = await client.put(
      path,
      changed({ resourceVersion: stored.metadata.resourceVersion }, { title: 'c' }),
    );
    expect(status).toBe(409);
    expect(body).toMatchObject({
      reason: 'Conflict',
      message: `Operation cannot be fulfilled on articles.contract.example.com "${stored.metadata.name}": the object has been modified; please apply your changes to the latest version and try again`,
      details: { name: stored.metadata.name, group: 'contract.example.com', kind: 'articles' },
    });
    expect((await client.get(path)).body.spec).toEqual({ title: 'b' });
  });

  test.each(['abc', '-1', '1.5', '99999999999999999999', '0x10'])(
    'with resourceVersion %j is a client error',
    async (resourceVersion) => {
      const { status } = await client.put(path, changed({ resourceVersion }));
      expect([400, 409, 422]).toContain(status);
      expect((await client.get(path)).body).toEqual(stored);
    },
  );

  test('never creates', async () => {
    const { status, body } = await client.put(`${articles}/never`, article('never'));
    expect([status, body.message]).toEqual([404, 'articles.contract.example.com "never" not found']);
    expect((await client.get(`${articles}/never`)).status).toBe(404);
  });

  test('with another uid is 409, with its own works', async () => {
    const { status, body } = await client.put(path, changed({ uid: '00000000-0000-4000-8000-000000000000' }));
    expect([status, body.reason]).toEqual([409, 'Conflict']);
    expect((await client.put(path, changed({ uid: stored.metadata.uid }))).status).toBe(200);
  });

  test.each([
    ['another creationTimestamp', { creationTimestamp: '2001-01-01T00:00:00Z' }],
    ['a deletionTimestamp', { deletionTimestamp: '2001-01-01T00:00:00Z' }],
    ['a generation', { generation: 77 }],
    ['a deletionGracePeriodSeconds', { deletionGracePeriodSeconds: 5 }],
  ])('cannot set %s', async (_, metadata) => {
    const { status } = await client.put(path, changed(metadata));
    expect([200, 409, 422]).toContain(status);
    const { body } = await client.get(path);
    expect(body.metadata.creationTimestamp).toBe(stored.metadata.creationTimestamp);
    expect(body.metadata.uid).toBe(stored.metadata.uid);
    expect(body.metadata.deletionTimestamp).toBeUndefined();
    expect(body.metadata.deletionGracePeriodSeconds).toBeUndefined();
    expect(body.metadata.generation).toBe(status === 200 ? 2 : 1);
  });

  test('accepts a creationTimestamp with milliseconds, as clients send it back', async () => {
    const echoed = stored.metadata.creationTimestamp.replace('Z', '.000Z');
    const { status, body } = await client.put(path, changed({ creationTimestamp: echoed }));
    expect([status, body.metadata.creationTimestamp]).toEqual([200, stored.metadata.creationTimestamp]);
  });

  test.each([
    ['the object as it was read', () => stored],
    [
      'the object as it was read, with keys in another order',
      () => Object.fromEntries(Object.entries(stored).toReversed()),
    ],
    ['the object without system fields', () => changed({ labels: { a: 'b' } }, { title: 'a' })],
    ['the object with an unknown field', () => changed({ labels: { a: 'b' } }, { title: 'a', bogus: 1 })],
  ])('of %s is a no-op without an event', async (_, body) => {
    const answer = await client.put(path, body());
    expect([answer.status, answer.body]).toEqual([200, stored]);
    expect((await client.get(path)).body).toEqual(stored);
    const last = `sentinel-${stored.metadata.name}`;
    await client.post(articles, article(last));
    expect(await watchedUntil(env, articles, { resourceVersion: stored.metadata.resourceVersion, last })).toEqual([]);
  });

  test('with a change is one MODIFIED event', async () => {
    const { body } = await client.put(path, changed());
    const last = `sentinel-${stored.metadata.name}`;
    await client.post(articles, article(last));
    const events = await watchedUntil(env, articles, { resourceVersion: stored.metadata.resourceVersion, last });
    expect(events).toEqual([{ type: 'MODIFIED', object: body }]);
  });

  test('succeeds once if many concurrent requests have one resourceVersion', async () => {
    const { resourceVersion } = stored.metadata;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => client.put(path, changed({ resourceVersion }, { priority: i }))),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect((await client.get(path)).body).toEqual(won[0]!.body);
  });

  test('always succeeds if many concurrent requests have no resourceVersion', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => client.put(path, changed({}, { priority: i }))),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect((await client.get(path)).body.metadata.generation).toBe(11);
  });
});

describe('If-Match', () => {
  const writes = [
    ['PUT', (headers: Record<string, string>) => client.put(path, changed(), headers)],
    ['PATCH', (headers: Record<string, string>) => client.patch(path, { spec: { title: 'b' } }, headers)],
    ['DELETE', (headers: Record<string, string>) => client.delete(path, { headers })],
  ] as const;

  test.each(writes)('%s with another ETag is 412 and changes nothing', async (_, write) => {
    for (const tag of ['"1"', '"other"', '"', 'x', `"${stored.metadata.resourceVersion}0"`]) {
      const { status, body } = await write({ 'if-match': tag });
      expect([tag, [400, 412].includes(status), body.kind]).toEqual([tag, true, 'Status']);
      if (/^"\w+"$/.test(tag)) expect([status, body.code]).toEqual([412, 412]);
    }
    expect((await client.get(path)).body).toEqual(stored);
  });

  test.each(writes)('%s with the current ETag succeeds', async (_, write) => {
    const { headers } = await client.get(path);
    expect((await write({ 'if-match': headers.get('etag')! })).status).toBe(200);
  });

  test.each(writes)('%s with one of several, and with *, succeeds', async (method, write) => {
    expect((await write({ 'if-match': `"1", "${stored.metadata.resourceVersion}"` })).status).toBe(200);
    if (method !== 'DELETE') expect((await write({ 'if-match': '*' })).status).toBe(200);
  });

  test('of a missing object is 412 or 404', async () => {
    expect([404, 412]).toContain((await client.put(`${articles}/never`, article('never'), { 'if-match': '*' })).status);
    expect((await client.get(`${articles}/never`)).status).toBe(404);
  });
});
