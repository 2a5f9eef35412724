import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type ContractClient } from './client.ts';
import { article, articles, registerModels } from './models.ts';

const bound = 10_000;
const count = bound + 123;
const workers = 40;
let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  const create = async (from: number): Promise<void> => {
    for (let i = from; i < count; i += workers) {
      const { status, text } = await client.post(
        articles,
        article(`t-${String(i).padStart(5, '0')}`, { priority: i % 2 }, { labels: { all: 'yes' } }),
      );
      if (status !== 201) throw new Error(text);
    }
  };
  await Promise.all(Array.from({ length: workers }, (_, i) => create(i)));
});
afterAll(() => env.stop());

test.each([
  ['without selectors it is exact', {}, count, false],
  ['with a selector it is a bound', { labelSelector: 'all=yes' }, bound, true],
  ['a field selector too', { fieldSelector: 'priority>=0' }, bound, true],
  ['fewer than the limit is exact', { fieldSelector: 'priority=0' }, Math.ceil(count / 2), false],
  ['exactTotal=true counts on', { labelSelector: 'all=yes', exactTotal: 'true' }, count, false],
])('the total above the limit: %s', async (_, query, total, bounded) => {
  const { status, body } = await client.get(withQuery(articles, { ...query, page: '2', size: '10' }));
  expect([status, body.total, (body as unknown as Record<string, unknown>)['totalIsLowerBound'] ?? false]).toEqual([
    200,
    total,
    bounded,
  ]);
  expect([body.first, body.last, body.hasNext, body.hasPrevious]).toEqual([false, false, true, true]);
});

test('pages beyond the limit exist', async () => {
  const page = await client.get(withQuery(articles, { labelSelector: 'all=yes', page: '102', size: '100' }));
  expect(names(page)).toEqual(Array.from({ length: 23 }, (_, i) => `t-${10_100 + i}`));
});

test('the first page beyond the limit is complete and says that more follow', async () => {
  for (const query of [{ labelSelector: 'all=yes' }, { fieldSelector: 'priority>=0', sort: 'name,asc' }]) {
    const { body } = await client.get(withQuery(articles, { ...query, page: '101', size: '100' }));
    expect([body.items.length, body.last, body.hasNext]).toEqual([100, false, true]);
  }
});

test('chunks continue beyond the limit', async () => {
  for (const query of [{ labelSelector: 'all=yes' }, { sort: 'priority,desc' }]) {
    const found = new Set<string>();
    for (let token = ''; ;) {
      const answer = await client.get(
        withQuery(articles, { ...query, limit: '3000', ...(token === '' ? {} : { continue: token }) }),
      );
      for (const name of names(answer)) found.add(name);
      token = answer.body.metadata.continue ?? '';
      if (token === '') break;
    }
    expect(found.size).toBe(count);
  }
});

test('without paging the list is complete, and its total is exact', async () => {
  for (const query of ['', '?labelSelector=all']) {
    const { body } = await client.get(`${articles}${query}`);
    expect([body.items.length, body.total, body.size, body.hasNext]).toEqual([count, count, count, false]);
  }
});

test('a page has at most 1000 objects', async () => {
  const { headers, body } = await client.get(`${articles}?size=5000`);
  expect([body.items.length, body.size, headers.get('warning')]).toEqual([1000, 1000, expect.stringContaining('1000')]);
});

test('a collection of any size is deleted completely', async () => {
  expect((await client.delete(`${articles}?fieldSelector=priority%3D1`)).status).toBe(200);
  expect((await client.delete(`${articles}?labelSelector=all`)).status).toBe(200);
  expect((await client.get(`${articles}?page=1`)).body.total).toBe(0);
});
