import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type WireResponse, type ContractClient } from './client.ts';
import { article, articles, notes, registerModels, report, reports } from './models.ts';

let env: TestEnv;
let client: ContractClient;
const all = Array.from({ length: 23 }, (_, i) => `a-${String(i).padStart(2, '0')}`);
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await Promise.all(
    all.map((name, i) =>
      client.post(articles, article(name, { priority: i % 4 }, { labels: { parity: i % 2 === 0 ? 'even' : 'odd' } })),
    ),
  );
});
afterAll(() => env.stop());

async function chunks(path: string, query: Record<string, string>): Promise<WireResponse[]> {
  const answers: WireResponse[] = [];
  for (let token = ''; answers.length < 50;) {
    const answer = await client.get(withQuery(path, { ...query, ...(token === '' ? {} : { continue: token }) }));
    expect(answer.status).toBe(200);
    answers.push(answer);
    token = answer.body.metadata.continue ?? '';
    if (token === '') return answers;
  }
  throw new Error('The chunks do not end.');
}

describe('limit and continue', () => {
  test.each([
    ['everything', { limit: '5' }, all, 5],
    ['a chunk that ends with the list', { limit: '23' }, all, 1],
    ['more than exist', { limit: '100' }, all, 1],
    ['one by one', { limit: '1' }, all, 23],
    ['with labels', { limit: '4', labelSelector: 'parity=odd' }, all.filter((_, i) => i % 2 === 1), 3],
    ['with fields', { limit: '4', fieldSelector: 'priority>1' }, all.filter((_, i) => i % 4 > 1), 3],
    ['sorted', { limit: '7', sort: 'name,desc' }, all.toReversed(), 4],
    [
      'sorted with ties',
      { limit: '4', sort: 'priority,desc' },
      all.toSorted((a, b) => (Number(b.slice(2)) % 4) - (Number(a.slice(2)) % 4) || (a < b ? 1 : -1)),
      6,
    ],
    ['sorted by null values', { limit: '6', sort: 'score,asc' }, all, 4],
    ['nothing found', { limit: '5', labelSelector: 'parity=none' }, [], 1],
  ])('%s', async (_, query, items, count) => {
    const answers = await chunks(articles, query);
    expect(answers.flatMap(names)).toEqual(items);
    expect(answers).toHaveLength(count);
    expect(new Set(answers.map(({ body }) => body.metadata.resourceVersion)).size).toBe(1);
  });

  test('say how many objects remain, unless filtered', async () => {
    const answers = await chunks(articles, { limit: '10' });
    expect(answers.map(({ body }) => body.metadata.remainingItemCount)).toEqual([13, 3, undefined]);
    expect(
      (await client.get(`${articles}?limit=2&labelSelector=parity%3Dodd`)).body.metadata.remainingItemCount,
    ).toBeUndefined();
  });

  test('limit=0 is no limit', async () => {
    const answer = await client.get(`${articles}?limit=0`);
    expect([answer.status, names(answer)]).toEqual([200, all]);
  });

  test('the limit may change between chunks', async () => {
    const first = await client.get(`${articles}?limit=3`);
    const second = await client.get(withQuery(articles, { limit: '100', continue: first.body.metadata.continue }));
    expect([...names(first), ...names(second)]).toEqual(all);
  });

  test('have one resource version, whatever is written between them', async () => {
    for (let i = 0; i < 9; i += 1) await client.post(reports, report(`r-${i}`, { size: 1, color: 'red' }));
    const first = await client.get(`${reports}?limit=3`);
    await client.delete(`${reports}/r-4`);
    await client.patch(`${reports}/r-5`, { spec: { size: 9 } });
    await client.patch(`${reports}/r-6`, { spec: { size: 8 } });
    await client.patch(`${reports}/r-6`, { spec: { size: 9 } });
    await client.post(reports, report('r-55'));
    await client.delete(`${reports}/r-0`);
    const rest: WireResponse[] = [];
    for (let token = first.body.metadata.continue; token; token = rest.at(-1)!.body.metadata.continue) {
      rest.push(await client.get(withQuery(reports, { limit: '3', continue: token })));
    }
    expect([first, ...rest].flatMap(names)).toEqual(Array.from({ length: 9 }, (_, i) => `r-${i}`));
    expect(rest.flatMap(({ body }) => body.items.map(({ spec }) => spec['size']))).toEqual([1, 1, 1, 1, 1, 1]);
    expect(new Set([first, ...rest].map(({ body }) => body.metadata.resourceVersion)).size).toBe(1);
  });

  test('with a selector have the objects that matched at that resource version', async () => {
    for (let i = 0; i < 6; i += 1) await client.post(reports, report(`s-${i}`, { color: 'blue' }));
    const query = { limit: '2', fieldSelector: 'spec.color=blue' };
    const first = await client.get(withQuery(reports, query));
    await client.patch(`${reports}/s-3`, { spec: { color: 'green' } });
    await client.post(reports, report('s-35', { color: 'blue' }));
    const second = await client.get(
      withQuery(reports, { ...query, limit: '10', continue: first.body.metadata.continue }),
    );
    expect(names(second)).toEqual(['s-2', 's-3', 's-4', 's-5']);
  });

  test('a token is refused for another list', async () => {
    const { body } = await client.get(`${articles}?limit=3`);
    const token = encodeURIComponent(body.metadata.continue);
    for (const path of [
      `${reports}?limit=3&continue=${token}`,
      `${notes}?limit=3&continue=${token}`,
      `${articles}?limit=3&sort=priority&continue=${token}`,
      `${articles}?limit=3&labelSelector=parity%3Dodd&continue=${token}`,
    ]) {
      const { status } = await client.get(path);
      expect(status).toBe(400);
    }
  });

  test('a changed token is 400 or 410', async () => {
    const token = (await client.get(`${articles}?limit=3`)).body.metadata.continue;
    for (let i = 0; i < token.length; i += 3) {
      const changed = token.slice(0, i) + (token[i] === 'A' ? 'B' : 'A') + token.slice(i + 1);
      const { status } = await client.get(withQuery(articles, { limit: '3', continue: changed }));
      expect([200, 400, 410, 504]).toContain(status);
    }
    for (const forged of [
      { v: 'meta.k8s.io/v1', rv: 1, start: 'a' },
      { rv: '9'.repeat(30) },
      [],
      null,
      { __proto__: null },
    ]) {
      const token64 = Buffer.from(JSON.stringify(forged)).toString('base64url');
      expect([400, 410]).toContain((await client.get(withQuery(articles, { limit: '3', continue: token64 }))).status);
    }
  });
});

describe('resourceVersion of a list', () => {
  test.each(['', '0', '1'])('%j is satisfied', async (resourceVersion) => {
    const answer = await client.get(withQuery(articles, { resourceVersion }));
    expect([answer.status, names(answer)]).toEqual([200, all]);
    expect(BigInt(answer.body.metadata.resourceVersion)).toBeGreaterThan(0n);
  });

  test('of a write gives a list that is at least as new', async () => {
    const { body } = await client.post(reports, report('newest'));
    for (const match of ['', '&resourceVersionMatch=NotOlderThan']) {
      const list = await client.get(`${reports}?resourceVersion=${body.metadata.resourceVersion}${match}`);
      expect([list.status, names(list).includes('newest')]).toEqual([200, true]);
      expect(BigInt(list.body.metadata.resourceVersion)).toBeGreaterThanOrEqual(BigInt(body.metadata.resourceVersion));
    }
  });

  test('from the future is 504 with Retry-After', async () => {
    const current = BigInt((await client.get(articles)).body.metadata.resourceVersion);
    const future = String(current + 1_000_000n);
    for (const query of ['', '&limit=5', '&page=1', '&resourceVersionMatch=NotOlderThan']) {
      const { status, body, headers } = await client.get(`${articles}?resourceVersion=${future}${query}`);
      expect([status, body.reason, body.code, headers.get('retry-after')]).toEqual([504, 'Timeout', 504, '1']);
      expect(body.message).toMatch(new RegExp(`^Timeout: Too large resource version: ${future}, current: \\d+$`));
      expect(body.details.causes?.map(({ reason }) => reason)).toEqual(['ResourceVersionTooLarge']);
      expect(body.details.retryAfterSeconds).toBe(1);
    }
  });

  test('Exact gives the list of that resource version, or 410', async () => {
    await client.post(reports, report('exact', { size: 1 }));
    const before = await client.get(reports);
    await client.patch(`${reports}/exact`, { spec: { size: 2 } });
    const { status, body } = await client.get(
      `${reports}?resourceVersionMatch=Exact&resourceVersion=${before.body.metadata.resourceVersion}`,
    );
    expect([200, 410]).toContain(status);
    if (status === 200)
      expect([body.metadata.resourceVersion, body.items]).toEqual([
        before.body.metadata.resourceVersion,
        before.body.items,
      ]);
    else expect(body.reason).toBe('Expired');
  });

  test.each([
    ['without resourceVersion', 'resourceVersionMatch=Exact', [422]],
    ['of another value', 'resourceVersionMatch=Bogus&resourceVersion=1', [400, 422]],
    ['Exact with 0', 'resourceVersionMatch=Exact&resourceVersion=0', [400, 422]],
    ['with continue', 'limit=3&resourceVersionMatch=Exact&resourceVersion=1&continue=abc', [400, 422]],
  ])('resourceVersionMatch %s is refused', async (_, query, statuses) => {
    expect(statuses).toContain((await client.get(`${articles}?${query}`)).status);
  });
});
