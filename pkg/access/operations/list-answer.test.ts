import { expect, test } from '@jest/globals';
import { listAnswer, readPage, type ListSource } from './list-answer.ts';
import type { OpenCall } from './operation.ts';

const rows = Array.from({ length: 7 }, (_, i) => i);
const source: ListSource<number> = {
  async *all() {
    yield rows.slice(0, 4);
    yield rows.slice(4);
  },
  page: async ({ limit, offset }) => ({ count: rows.length, rows: rows.slice(offset, offset + limit) }),
  present: (n) => ({ n }),
};
const call = (query: string): Pick<OpenCall, 'query' | 'request'> => ({
  query: new URLSearchParams(query),
  request: { baseUrl: 'http://h:1', target: `/api/v1/users/users/?${query}` } as OpenCall['request'],
});
const read = async (query: string): Promise<unknown> => {
  const { body, stream } = await listAnswer(call(query), source);
  let text = body?.toString() ?? '';
  for await (const piece of stream ?? []) text += piece;
  return JSON.parse(text);
};

test('without a limit it is an array of all items', async () => {
  expect(await read('search=x')).toEqual(rows.map((n) => ({ n })));
  expect(await read('offset=3')).toHaveLength(7);
});

test('an empty list is an array too', async () => {
  const { stream } = await listAnswer(call(''), { ...source, async *all() {} });
  let text = '';
  for await (const piece of stream!) text += piece;
  expect(text).toBe('[]');
});

test('with a limit it links the previous and next parts, and their URLs keep the other parameters', async () => {
  expect(await read('search=a%20b&limit=3&offset=2')).toEqual({
    count: 7,
    next: 'http://h:1/api/v1/users/users/?search=a+b&limit=3&offset=5',
    previous: 'http://h:1/api/v1/users/users/?search=a+b&limit=3&offset=0',
    results: [{ n: 2 }, { n: 3 }, { n: 4 }],
  });
  expect(await read('limit=7')).toMatchObject({ next: null, previous: null });
  expect(await read('limit=3&offset=100')).toEqual({
    count: 7,
    next: null,
    previous: 'http://h:1/api/v1/users/users/?limit=3&offset=97',
    results: [],
  });
});

test('a limit above 1000 is taken as 1000', () => {
  expect(readPage(new URLSearchParams('limit=5000'))).toEqual({ limit: 1000, offset: 0 });
});

test.each([
  'limit=0',
  'limit=-1',
  'limit=x',
  'limit=',
  'limit=%00',
  'limit=1.5',
  'limit=1e3',
  'limit=1&limit=2',
  'limit=1&offset=-1',
  'offset=x',
  'limit=x&offset=x',
  'limit=9999999999999999',
])('%s is 400, and names the parameter', (query) => {
  const body =
    query.startsWith('offset') || query.includes('offset=-1')
      ? { offset: ['A whole number from 0 is expected.'] }
      : { limit: ['A whole number from 1 is expected.'] };
  expect(() => readPage(new URLSearchParams(query))).toThrow(expect.objectContaining({ status: 400, body }));
});
