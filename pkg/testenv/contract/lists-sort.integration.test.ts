import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type ContractClient } from './client.ts';
import { article, articles, namespaces, note, notes, notesIn, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  for (const [name, spec] of [
    ['b', { title: 'x', priority: 10, big: 5, score: -0.5, published: true, publishedAt: '2026-01-02T00:00:00Z' }],
    [
      'a',
      {
        title: 'x',
        priority: 9,
        big: 1_000_000_000_000,
        score: 2,
        published: false,
        publishedAt: '2026-01-01T23:00:00-05:00',
      },
    ],
    ['d', { title: 'y', priority: 10, score: 10, publishedAt: '2025-12-31T00:00:00Z' }],
    ['c', { priority: -3, score: 1e-3 }],
    ['e', {}],
  ] as const) {
    await client.post(articles, article(name, spec));
  }
});
afterAll(() => env.stop());

async function sorted(...sort: string[]): Promise<string> {
  const answer = await client.get(withQuery(articles, { sort }));
  expect(answer.status).toBe(200);
  return names(answer).join('');
}

describe('sort', () => {
  test.each([
    ['none: by name', [], 'abcde'],
    ['asc is the default', ['priority'], 'ecabd'],
    ['asc', ['priority,asc'], 'ecabd'],
    ['desc: ties by name, in its direction; nulls last', ['priority,desc'], 'dbace'],
    ['numbers are not sorted as texts', ['score,asc'], 'ebcad'],
    ['numbers desc', ['score,desc'], 'dacbe'],
    ['large integers', ['big,desc'], 'abedc'],
    ['booleans: false before true, nulls first', ['published,asc'], 'cdeab'],
    ['booleans desc', ['published,desc'], 'baedc'],
    ['dates as points in time', ['publishedAt,asc'], 'cedba'],
    ['dates desc', ['publishedAt,desc'], 'abdec'],
    ['texts with ties asc', ['title,asc'], 'ceabd'],
    ['texts with ties desc', ['title,desc'], 'dbaec'],
    ['two keys, the last gives the direction of ties', ['title,desc', 'priority,asc'], 'dabec'],
    ['two keys', ['priority,desc', 'title,asc'], 'bdace'],
    ['two keys, ties desc', ['title,asc', 'published,desc'], 'ecbad'],
    ['the name', ['metadata.name,desc'], 'edcba'],
    ['the name, short', ['name,desc'], 'edcba'],
    ['a duplicate key', ['name,desc', 'name,asc'], 'edcba'],
    ['all created in order', ['metadata.creationTimestamp,desc', 'name,asc'], undefined],
    ['none is being deleted', ['metadata.deletionTimestamp,asc'], 'abcde'],
  ])('%s', async (_, sort, expected) => {
    const answer = await client.get(withQuery(articles, { sort }));
    if (answer.status === 400 && new Set(sort.map((each) => each.split(',')[0])).size < sort.length) return; // one key twice may be refused
    expect(answer.status).toBe(200);
    if (expected === undefined) expect(names(answer)).toHaveLength(5);
    else expect(names(answer).join('')).toBe(expected);
  });

  test('combines with selectors and pages', async () => {
    const answer = await client.get(
      withQuery(articles, { sort: ['priority,desc'], fieldSelector: 'priority>0', page: '2', size: '2' }),
    );
    expect([names(answer), answer.body.total]).toEqual([['a'], 3]);
  });

  test('pages of a sorted list give each object once', async () => {
    for (const sort of ['title,asc', 'published,desc', 'metadata.creationTimestamp,asc']) {
      const whole = await sorted(sort);
      let pages = '';
      for (let page = 1; page <= 5; page += 1)
        pages += names(await client.get(withQuery(articles, { sort, page: String(page), size: '1' }))).join('');
      expect(pages).toBe(whole);
    }
  });

  test.each([
    ['an unindexed field', 'spec.body'],
    ['an unknown field', 'nope'],
    ['the path of an index that has another name', 'spec.nope,desc'],
    ['a multi-value index', 'tags'],
    ['labels', 'metadata.labels'],
    ['an unknown direction', 'priority,sideways'],
    ['two directions', 'priority,asc,desc'],
    ['no field', ',desc'],
    ['SQL', "priority'; DROP TABLE objects; --"],
  ])('%s is 400', async (_, sort) => {
    const { status, body } = await client.get(withQuery(articles, { sort }));
    expect([status, body.reason]).toEqual([400, 'BadRequest']);
    expect(body.details.causes?.length).toBeGreaterThan(0);
  });

  test('an unindexed field is named, with the indexed ones', async () => {
    const { body } = await client.get(withQuery(articles, { sort: 'spec.body,desc' }));
    const told = JSON.stringify(body.details.causes);
    for (const name of ['spec.body', 'priority', 'title', 'metadata.name']) expect(told).toContain(name);
  });
});

test('names are in the order of their bytes', async () => {
  const made = ['z-1', 'z1', 'z-a', 'za', 'z', 'z--1', 'z10', 'z2'];
  for (const name of made) await client.post(articles, article(name, { format: 'html' }, { labels: { bytes: 'yes' } }));
  expect(names(await client.get(`${articles}?labelSelector=bytes`))).toEqual(made.toSorted());
  expect(names(await client.get(`${articles}?labelSelector=bytes&limit=3`))).toEqual(made.toSorted().slice(0, 3));
});

test('equal keys are ordered by namespace, then name, in the direction of the last key', async () => {
  for (const namespace of ['n1', 'n2']) {
    await client.post(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    for (const name of ['b', 'a']) await client.post(notesIn(namespace), note(name, { text: 'same' }));
  }
  const order = async (query: string) =>
    (await client.get(`${notes}${query}`)).body.items
      .map(({ metadata }) => metadata.namespace + metadata.name)
      .join(' ');
  expect(await order('')).toBe('n1a n1b n2a n2b');
  expect(await order('?sort=text')).toBe('n1a n1b n2a n2b');
  expect(await order('?sort=text,desc')).toBe('n2b n2a n1b n1a');
});
