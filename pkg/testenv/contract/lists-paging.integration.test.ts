import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type WireResponse, type ContractClient } from './client.ts';
import { apiVersion, article, articles, registerModels, report, reports } from './models.ts';

let env: TestEnv;
let client: ContractClient;
const all = Array.from({ length: 45 }, (_, i) => `a-${String(i).padStart(2, '0')}`);
beforeAll(async () => {
  env = await startTestEnv({ handlers: { maxPageSize: 40 } });
  client = clientOf(env);
  await registerModels(client);
  await Promise.all(
    all.map((name, i) =>
      client.post(articles, article(name, { priority: i % 3 }, { labels: { parity: i % 2 === 0 ? 'even' : 'odd' } })),
    ),
  );
});
afterAll(() => env.stop());

const list = (query: Record<string, string | string[]>): Promise<WireResponse> =>
  client.get(withQuery(articles, query));

function envelope({ body }: WireResponse) {
  const { page, size, total, totalPages, first, last, hasNext, hasPrevious } = body;
  return { page, size, total, totalPages, first, last, hasNext, hasPrevious };
}

describe('the envelope', () => {
  test.each([
    [
      'the first page',
      { page: '1', size: '10' },
      all.slice(0, 10),
      { page: 1, size: 10, first: true, last: false, hasNext: true, hasPrevious: false },
    ],
    [
      'a middle page',
      { page: '3', size: '10' },
      all.slice(20, 30),
      { page: 3, size: 10, first: false, last: false, hasNext: true, hasPrevious: true },
    ],
    [
      'the last page',
      { page: '5', size: '10' },
      all.slice(40),
      { page: 5, size: 10, first: false, last: true, hasNext: false, hasPrevious: true },
    ],
    [
      'only page: size 20',
      { page: '2' },
      all.slice(20, 40),
      { page: 2, size: 20, totalPages: 3, first: false, last: false, hasNext: true, hasPrevious: true },
    ],
    [
      'only size: page 1',
      { size: '40' },
      all.slice(0, 40),
      { page: 1, size: 40, totalPages: 2, first: true, last: false, hasNext: true, hasPrevious: false },
    ],
    [
      'past the end',
      { page: '6', size: '10' },
      [],
      { page: 6, size: 10, first: false, hasNext: false, hasPrevious: true },
    ],
    [
      'far past the end',
      { page: '1000000', size: '10' },
      [],
      { page: 1_000_000, size: 10, first: false, hasNext: false, hasPrevious: true },
    ],
    [
      'page 0 is absent',
      { page: '0', size: '10' },
      all.slice(0, 10),
      { page: 1, size: 10, first: true, last: false, hasNext: true, hasPrevious: false },
    ],
    [
      'size 0 is absent',
      { page: '3', size: '0' },
      all.slice(40),
      { page: 3, size: 20, totalPages: 3, first: false, last: true, hasNext: false, hasPrevious: true },
    ],
    [
      'everything on one page',
      { page: '1', size: '15', fieldSelector: 'priority=1' },
      undefined,
      { page: 1, size: 15, total: 15, totalPages: 1, first: true, last: true, hasNext: false, hasPrevious: false },
    ],
    [
      'nothing found',
      { page: '1', size: '10', labelSelector: 'parity=none' },
      [],
      { page: 1, size: 10, total: 0, totalPages: 0, first: true, last: true, hasNext: false, hasPrevious: false },
    ],
  ])('%s', async (_, query, items, expected) => {
    const answer = await list(query);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      apiVersion,
      kind: 'ArticleList',
      metadata: { resourceVersion: expect.stringMatching(/^[1-9][0-9]*$/) },
    });
    expect(envelope(answer)).toEqual({ total: 45, totalPages: 5, last: expect.any(Boolean), ...expected });
    if (items !== undefined) expect(names(answer)).toEqual(items);
    expect(answer.body.metadata.continue ?? '').toBe('');
    for (const item of answer.body.items) expect([item.apiVersion, item.kind]).toEqual([apiVersion, 'Article']);
  });

  test.each([
    ['without paging', {}, all.length, 1],
    ['both absent', { page: '0', size: '0' }, all.length, 1],
    ['with a selector', { labelSelector: 'parity=odd' }, 22, 1],
    ['nothing found', { labelSelector: 'parity=none' }, 0, 0],
  ])('%s has everything on one page', async (_, query, total, totalPages) => {
    const answer = await list(query);
    expect(answer.body.items).toHaveLength(total);
    expect(envelope(answer)).toEqual({
      page: 1,
      size: total,
      total,
      totalPages,
      first: true,
      last: true,
      hasNext: false,
      hasPrevious: false,
    });
    expect(answer.body.metadata.resourceVersion).toMatch(/^[1-9][0-9]*$/);
  });

  test('of a model without objects', async () => {
    const answer = await client.get(reports);
    expect([answer.body.kind, answer.body.items]).toEqual(['ReportList', []]);
    expect(envelope(answer)).toEqual({
      page: 1,
      size: 0,
      total: 0,
      totalPages: 0,
      first: true,
      last: true,
      hasNext: false,
      hasPrevious: false,
    });
  });

  test('has no page fields with limit', async () => {
    const { body } = await list({ limit: '10' });
    for (const field of ['page', 'size', 'total', 'totalPages', 'first', 'last', 'hasNext', 'hasPrevious'])
      expect(body).not.toHaveProperty(field);
  });

  test('a size above the maximum is reduced with a warning', async () => {
    const answer = await list({ size: '41' });
    expect([answer.status, answer.body.size, names(answer), answer.body.totalPages]).toEqual([
      200,
      40,
      all.slice(0, 40),
      2,
    ]);
    expect(answer.headers.get('warning')).toMatch(/^299 - ".*40.*"/);
    expect((await list({ size: '40' })).headers.has('warning')).toBe(false);
    expect((await list({ size: '999999999' })).body.size).toBe(40);
  });
});

describe('the total', () => {
  test('is exact with and without selectors', async () => {
    for (const [query, total] of [
      [{}, 45],
      [{ labelSelector: 'parity=even' }, 23],
      [{ fieldSelector: 'priority=2' }, 15],
      [{ labelSelector: 'parity!=even', fieldSelector: 'priority!=2' }, 15],
      [{ fieldSelector: 'priority=2', exactTotal: 'true' }, 15],
    ] as const) {
      const { body } = await list({ ...query, page: '2', size: '5' });
      expect(body.total).toBe(total);
      expect(body).not.toHaveProperty('totalIsLowerBound', true);
    }
  });

  test('follows each write at once', async () => {
    const total = async () => (await client.get(`${reports}?page=1&size=1`)).body.total;
    for (let i = 0; i < 5; i += 1) {
      await client.post(reports, report(`t-${i}`));
      expect(await total()).toBe(i + 1);
    }
    await client.delete(`${reports}/t-0`);
    expect(await total()).toBe(4);
    await client.delete(reports);
    expect(await total()).toBe(0);
  });
});

describe('refuses with 400', () => {
  test.each([
    { page: 'x' },
    { page: '-1' },
    { page: '1.5' },
    { page: '1e3' },
    { page: '0x10' },
    { page: 'NaN' },
    { page: '1', size: 'many' },
    { size: '-5' },
    { size: 'Infinity' },
    { size: ' 5' },
    { limit: 'x' },
    { limit: '1.5' },
    { limit: '-1' },
    { page: '1', limit: '5' },
    { size: '5', limit: '5' },
    { page: '1', continue: 'abc' },
    { limit: '5', continue: 'garbage' },
    { limit: '5', continue: 'e30' },
    { limit: '5', continue: '%00' },
    { resourceVersion: 'x' },
    { resourceVersion: '-1' },
    { resourceVersion: '1.5' },
  ])('%j', async (query) => {
    const { status, body } = await list(query);
    expect([status, body.kind, body.reason, body.code]).toEqual([400, 'Status', 'BadRequest', 400]);
  });

  test('the message of a bad continue token', async () => {
    expect((await list({ limit: '5', continue: 'garbage' })).body.message).toMatch(/^invalid continue token/);
  });

  test.each(['99999999999999999999', '9223372036854775807', '18446744073709551616'])(
    'page and size %s are never an error of the server',
    async (huge) => {
      for (const query of [
        { page: huge },
        { size: huge },
        { page: huge, size: huge },
        { limit: huge },
        { page: huge, size: '1' },
      ]) {
        expect([200, 400]).toContain((await list(query)).status);
      }
    },
  );
});
