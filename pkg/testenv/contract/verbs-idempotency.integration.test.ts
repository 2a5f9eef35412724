import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, mergePatch, names, type WireResponse, type ContractClient } from './client.ts';
import { article, articles, registerModels, report, reports } from './models.ts';

let env: TestEnv;
let client: ContractClient;
let other: ContractClient;
beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = clientOf(env);
  other = clientOf(env, 1);
  await registerModels(client);
  await registered(other);
});
afterAll(() => env.stop());

async function registered(on: ContractClient): Promise<void> {
  for (const end = Date.now() + 10_000; (await on.get(reports)).status !== 200;)
    if (Date.now() > end) throw new Error('The model does not arrive.');
}

const key = (value: string) => ({ 'idempotency-key': value });
const generated = (label: string, spec: Record<string, unknown> = {}) => ({
  ...article('x', spec),
  metadata: { generateName: 'made-', labels: { label } },
});
const made = async (label: string) => names(await client.get(`${articles}?labelSelector=label%3D${label}`));

describe('the same key and body', () => {
  test('repeat the first outcome, on any replica', async () => {
    const first = await client.post(articles, generated('again'), key('again'));
    expect(first.status).toBe(201);
    for (const each of [client, other, client]) {
      const { status, body, headers } = await each.post(articles, generated('again'), key('again'));
      expect([status, body, headers.get('location')]).toEqual([201, first.body, first.headers.get('location')]);
    }
    expect(await made('again')).toEqual([first.body.metadata.name]);
  });

  test('return the object at that revision, whatever became of it', async () => {
    const first = await client.post(articles, article('became', { title: 'a' }), key('became'));
    await client.patch(`${articles}/became`, { spec: { title: 'b' } });
    expect((await client.post(articles, article('became', { title: 'a' }), key('became'))).body).toEqual(first.body);
    await client.delete(`${articles}/became`);
    const { status, body } = await other.post(articles, article('became', { title: 'a' }), key('became'));
    expect([status, body]).toEqual([201, first.body]);
    expect((await client.get(`${articles}/became`)).status).toBe(404);
  });

  test('repeat the answer of a request that changed nothing, and never change anything', async () => {
    const { body: stored } = await client.post(articles, article('still', { title: 'a' }));
    const put = (on: ContractClient, title: string) =>
      on.put(`${articles}/still`, article('still', { title }), key('still'));
    expect((await put(client, 'a')).body).toEqual(stored);
    await client.patch(`${articles}/still`, { spec: { title: 'b' } });
    const again = await put(other, 'a');
    expect([again.status, again.body]).toEqual([200, stored]);
    expect((await put(other, 'c')).status).toBe(422);
    expect((await client.get(`${articles}/still`)).body.spec).toEqual({ title: 'b' });
  });

  test('repeat the answer of a second deletion that waits for finalizers', async () => {
    await client.post(articles, article('held', {}, { finalizers: ['example.com/held'] }));
    await client.delete(`${articles}/held`);
    const second = await client.delete(`${articles}/held`, { headers: key('held') });
    await client.patch(`${articles}/held`, { metadata: { finalizers: null } });
    const again = await other.delete(`${articles}/held`, { headers: key('held') });
    expect([again.status, again.body]).toEqual([200, second.body]);
  });

  const writes: [string, (on: ContractClient, name: string) => Promise<WireResponse>][] = [
    ['PUT', (on, name) => on.put(`${articles}/${name}`, article(name, { title: 'b' }), key(`put-${name}`))],
    [
      'PATCH',
      (on, name) =>
        on.patch(`${articles}/${name}`, [{ op: 'add', path: '/spec/tags/-', value: 'z' }], {
          'content-type': 'application/json-patch+json',
          ...key(`patch-${name}`),
        }),
    ],
    ['DELETE', (on, name) => on.delete(`${articles}/${name}`, { headers: key(`delete-${name}`) })],
  ];
  test.each(writes)('%s is done once', async (method, write) => {
    const name = `once-${method.toLowerCase()}`;
    const { body: stored } = await client.post(articles, article(name, { title: 'a', tags: ['y'] }));
    const first = await write(client, name);
    expect(first.status).toBe(200);
    const again = await write(other, name);
    expect([again.status, again.body]).toEqual([200, first.body]);
    const now = await client.get(`${articles}/${name}`);
    if (method === 'DELETE') expect(now.status).toBe(404);
    else expect([now.body, now.body.metadata.generation]).toEqual([first.body, stored.metadata.generation + 1]);
  });

  test('DELETE does not delete a successor', async () => {
    await client.post(articles, article('successor'));
    const remove = () => client.delete(`${articles}/successor`, { headers: key('successor') });
    const first = await remove();
    await client.post(articles, article('successor', { title: 'new' }));
    const again = await remove();
    expect([again.status, again.body]).toEqual([200, first.body]);
    expect((await client.get(`${articles}/successor`)).body.spec).toEqual({ title: 'new' });
  });

  test('PUT of the status too', async () => {
    await client.post(reports, report('once', {}));
    const write = (on: ContractClient) =>
      on.put(`${reports}/once/status`, { ...report('once'), status: { phase: 'A' } }, key('status'));
    const first = await write(client);
    await client.patch(`${reports}/once/status`, { status: { phase: 'B' } });
    expect((await write(other)).body).toEqual(first.body);
    expect((await client.get(`${reports}/once`)).body.status).toEqual({ phase: 'B' });
  });

  test('of many concurrent requests on both replicas one is done; the others wait or get 409', async () => {
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) =>
        (i % 2 === 0 ? client : other).post(articles, generated('crowd'), key('crowd')),
      ),
    );
    const uids = new Set<string>();
    for (const { status, body, headers } of answers) {
      if (status === 409) expect(headers.get('retry-after')).toMatch(/^[1-9][0-9]*$/);
      else expect(status).toBe(201);
      if (status === 201) uids.add(body.metadata.uid);
    }
    expect(uids.size).toBe(1);
    expect(await made('crowd')).toHaveLength(1);
    expect((await client.post(articles, generated('crowd'), key('crowd'))).body.metadata.uid).toBe([...uids][0]);
  });
});

describe('the same key', () => {
  test('with another body is 422', async () => {
    await client.post(articles, generated('body', { title: 'a' }), key('body'));
    for (const each of [client, other]) {
      const { status, body } = await each.post(articles, generated('body', { title: 'b' }), key('body'));
      expect([status, body.kind, body.code]).toEqual([422, 'Status', 422]);
    }
    expect(await made('body')).toHaveLength(1);
  });

  test('at another path or with another method is another request', async () => {
    expect((await client.post(articles, article('path-a'), key('path'))).status).toBe(201);
    expect((await client.put(`${articles}/path-a`, article('path-a', { title: 'a' }), key('path'))).status).toBe(200);
    expect((await client.post(reports, report('path-a'), key('path'))).status).toBe(201);
    expect(
      (await client.patch(`${articles}/path-a`, { spec: { title: 'b' } }, { ...mergePatch, ...key('path') })).status,
    ).toBe(200);
  });

  test('another key is another request', async () => {
    await client.post(articles, generated('keys'), key('keys-1'));
    await client.post(articles, generated('keys'), key('keys-2'));
    expect(await made('keys')).toHaveLength(2);
  });
});

describe('only successes are remembered', () => {
  test('a refused body can be corrected with the same key', async () => {
    expect((await client.post(articles, article('corrected', { priority: 5000 }), key('corrected'))).status).toBe(422);
    expect((await client.post(articles, article('corrected', { priority: 5 }), key('corrected'))).status).toBe(201);
  });

  test('a request can succeed after a conflict', async () => {
    await client.post(articles, article('goes'));
    expect((await client.post(articles, article('goes', { title: 'b' }), key('goes'))).status).toBe(409);
    await client.delete(`${articles}/goes`);
    expect((await other.post(articles, article('goes', { title: 'b' }), key('goes'))).status).toBe(201);
  });

  test('a request can succeed after a 404', async () => {
    const write = () => client.put(`${articles}/comes`, article('comes', { title: 'b' }), key('comes'));
    expect((await write()).status).toBe(404);
    await client.post(articles, article('comes'));
    expect((await write()).status).toBe(200);
  });

  test('a dry run does not count as the later request', async () => {
    expect([201, 400]).toContain((await client.post(`${articles}?dryRun=All`, article('dry'), key('dry'))).status); // the two may exclude each other
    expect((await client.get(`${articles}/dry`)).status).toBe(404);
    expect((await client.post(articles, article('dry'), key('dry'))).status).toBe(201);
    expect((await client.get(`${articles}/dry`)).status).toBe(200);
  });
});

test.each(['', ' ', 'k'.repeat(10_000), 'a"b', '\u00e4'])(
  'the unusual key %# is accepted or a client error',
  async (value) => {
    const { status } = await client.post(articles, generated('odd'), key(value));
    expect([201, 400, 422, 431]).toContain(status);
  },
);

test('reads ignore it', async () => {
  expect((await client.get(articles, key('again'))).status).toBe(200);
});
