import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withoutManagedFields, type ContractClient } from './client.ts';
import { article, articles, definitionFor, definitions, registerModels } from './models.ts';

let env: TestEnv;
let clients: [ContractClient, ContractClient];
beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  clients = [clientOf(env, 0), clientOf(env, 1)];
  await registerModels(clients[0]);
  await served(clients[1], articles);
});
afterAll(() => env.stop());

async function served(client: ContractClient, path: string): Promise<void> {
  for (const end = Date.now() + 10_000; (await client.get(path)).status !== 200;)
    if (Date.now() > end) throw new Error(`Not served: ${path}`);
}

test('a write on one server is visible on the other at once', async () => {
  for (let i = 0; i < 30; i += 1) {
    const [writer, reader] = i % 2 === 0 ? clients : ([clients[1], clients[0]] as const);
    const path = `${articles}/seen-${i}`;
    const created = await writer.post(articles, article(`seen-${i}`, { priority: i }));
    expect((await reader.get(path)).body).toEqual(created.body);
    expect(names(await reader.get(`${articles}?fieldSelector=name%3Dseen-${i},priority%3D${i}`))).toEqual([
      `seen-${i}`,
    ]);
    const updated = await reader.put(path, article(`seen-${i}`, { priority: i + 100 }));
    expect((await writer.get(path)).body).toEqual(updated.body);
    expect((await writer.delete(path)).status).toBe(200);
    expect((await reader.get(path)).status).toBe(404);
    expect(names(await reader.get(`${articles}?fieldSelector=name%3Dseen-${i}`))).toEqual([]);
  }
});

test('a list is at least as new as a write on the other server', async () => {
  const { body } = await clients[0].post(articles, article('newer'));
  const list = await clients[1].get(
    `${articles}?resourceVersion=${body.metadata.resourceVersion}&resourceVersionMatch=NotOlderThan`,
  );
  expect([list.status, names(list).includes('newer')]).toEqual([200, true]);
});

test('a watch on one server has the writes of the other', async () => {
  const { resourceVersion } = (await clients[0].get(articles)).body.metadata;
  const abort = new AbortController();
  const response = await env.request(`${articles}?watch=true&resourceVersion=${resourceVersion}`, {
    server: 1,
    headers: withoutManagedFields,
    signal: abort.signal,
  });
  const { body } = await clients[0].post(articles, article('told'));
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('"told"') && text.includes('\n')) break;
  }
  abort.abort();
  const line = text.split('\n').find((each) => each.includes('"told"'))!;
  expect(JSON.parse(line)).toEqual({ type: 'ADDED', object: body });
});

test('one of two optimistic writes wins', async () => {
  for (let i = 0; i < 10; i += 1) {
    const { body } = await clients[0].post(articles, article(`race-${i}`));
    const { resourceVersion } = body.metadata;
    const answers = await Promise.all(
      clients.map((client, n) =>
        client.put(`${articles}/race-${i}`, article(`race-${i}`, { priority: n }, { resourceVersion })),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  }
});

test('patches on both servers are all kept', async () => {
  await clients[0].post(articles, article('merged', { extra: {} }));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      clients[i % 2]!.patch(`${articles}/merged`, { spec: { extra: { [`k${i}`]: i } } }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(Object.keys((await clients[1].get(`${articles}/merged`)).body.spec['extra'] as object)).toHaveLength(20);
});

test('a unique value is accepted once', async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) => clients[i % 2]!.post(articles, article(`unique-${i}`, { slug: 'wanted' }))),
  );
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
});

test('chunks continue on the other server', async () => {
  for (let i = 0; i < 5; i += 1)
    await clients[0].post(articles, article(`chunk-${i}`, {}, { labels: { chunk: 'yes' } }));
  const first = await clients[0].get(`${articles}?labelSelector=chunk&limit=3`);
  const second = await clients[1].get(
    `${articles}?labelSelector=chunk&limit=3&continue=${encodeURIComponent(first.body.metadata.continue)}`,
  );
  expect([...names(first), ...names(second)]).toEqual(Array.from({ length: 5 }, (_, i) => `chunk-${i}`));
});

test('a model that is registered on one server is soon served by the other', async () => {
  await clients[0].post(definitions, definitionFor({ kind: 'Late', plural: 'lates', spec: {} }));
  await served(clients[1], '/apis/contract.example.com/v1/lates');
});
