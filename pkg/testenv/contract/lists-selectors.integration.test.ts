import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type ContractClient } from './client.ts';
import { article, articles, registerModels, report, reports } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  for (const [name, labels, spec] of [
    [
      'a',
      { tier: 'gold', 'example.com/x': '1' },
      {
        slug: 'one',
        tags: ['red', 'blue'],
        priority: 1,
        score: 0.5,
        published: true,
        publishedAt: '2026-01-01T00:00:00Z',
      },
    ],
    [
      'b',
      { tier: 'silver', empty: '' },
      {
        slug: 'a,b',
        title: '\u{10ffff}\ud7ffx',
        tags: ['red'],
        priority: 2,
        score: 1,
        published: false,
        publishedAt: '2026-06-01T00:00:00Z',
      },
    ],
    ['c', { tier: 'gold', empty: 'no' }, { slug: 'x=y', tags: [], priority: -5, score: -1.25, title: 'pre_fix%' }],
    ['d', {}, { slug: '\\', title: 'prefix' }],
    [
      'e',
      { tier: 'bronze' },
      { slug: 'one two', tags: ['a,b', '(x)', '"', '\\', '\\"', '{}', 'NULL', 'a"b\\c'], priority: 10, title: 'pre' },
    ],
  ] as const) {
    const { status, text } = await client.post(articles, article(name, spec, { labels }));
    if (status !== 201) throw new Error(`Not stored: ${text}`);
  }
  for (const [name, color] of [
    ['r', 'red'],
    ['s', 'blue'],
    ['t', undefined],
  ] as const)
    await client.post(reports, report(name, color === undefined ? {} : { color }));
});
afterAll(() => env.stop());

async function selected(query: Record<string, string | string[]>): Promise<string> {
  const answer = await client.get(withQuery(articles, query));
  return answer.status === 200 ? names(answer).join('') : `${answer.status} ${answer.body.message}`;
}

describe('labelSelector', () => {
  test.each([
    ['tier=gold', 'ac'],
    ['tier==gold', 'ac'],
    ['tier!=gold', 'bde'],
    ['tier', 'abce'],
    ['!tier', 'd'],
    ['tier=(gold,bronze)', 'ace'],
    ['tier in (gold,bronze)', 'ace'],
    ['tier in ( gold , bronze )', 'ace'],
    ['tier in (gold)', 'ac'],
    ['tier=(gold)', 'ac'],
    ['tier notin (gold,bronze)', 'bd'],
    ['tier=gold,empty', 'c'],
    ['tier=(gold,silver),!empty', 'a'],
    ['empty=', 'b'],
    ['empty!=', 'acde'],
    ['empty in (,no)', 'bc'],
    ['example.com/x=1', 'a'],
    ['!example.com/x,tier', 'bce'],
    [' tier = gold ', 'ac'],
    ['tier=none', ''],
    ['tier=gold,tier=silver', ''],
    ['absent', ''],
    ['in', ''],
    ['notin=in', ''],
    ['', 'abcde'],
  ])('%j', async (labelSelector, expected) => {
    expect(await selected({ labelSelector })).toBe(expected);
  });

  test('is combined with AND if repeated', async () => {
    expect(await selected({ labelSelector: ['tier=gold', '!empty'] })).toBe('a');
    expect(await selected({ labelSelector: ['tier', 'tier!=gold', 'tier notin (bronze)'] })).toBe('b');
  });

  test.each([
    '=',
    '=a',
    'a=b=c',
    'tier gold',
    'tier in',
    'tier in gold',
    'tier in (gold',
    'tier=(gold',
    'tier in ()x',
    'a,,b',
    ',a',
    'a,',
    ',',
    '!',
    '!!a',
    '!a=b',
    'tier>1',
    'tier<1',
    'tier^=g',
    'tier~g',
    'a b',
    '-a=b',
    'a/b/c=1',
    'tier=-x',
    'tier=a b',
    `${'k'.repeat(64)}=a`,
    `a=${'v'.repeat(64)}`,
    'a=b\0',
    '((',
    'tier xor (a)',
  ])('%j is 400', async (labelSelector) => {
    const { status, body } = await client.get(withQuery(articles, { labelSelector }));
    expect([status, body.reason, body.kind]).toEqual([400, 'BadRequest', 'Status']);
  });

  test('a changed label changes the result at once', async () => {
    await client.post(reports, report('moves', {}, { labels: { at: 'x' } }));
    const at = async (value: string) => names(await client.get(`${reports}?labelSelector=at%3D${value}`));
    await client.patch(`${reports}/moves`, { metadata: { labels: { at: 'y' } } });
    expect([await at('x'), await at('y')]).toEqual([[], ['moves']]);
    await client.patch(`${reports}/moves`, { metadata: { labels: null } });
    expect([await at('y'), names(await client.get(`${reports}?labelSelector=!at`)).includes('moves')]).toEqual([
      [],
      true,
    ]);
    await client.delete(`${reports}/moves`);
  });
});

describe('fieldSelector', () => {
  test.each([
    ['slug=one', 'a'],
    ['slug==one', 'a'],
    ['slug!=one', 'bcde'],
    ['title!=prefix', 'abce'],
    ['slug=one two', 'e'],
    ['slug=a\\,b', 'b'],
    ['slug=x\\=y', 'c'],
    ['slug==x\\=y', 'c'],
    ['slug=\\\\', 'd'],
    ['slug=(one,a\\,b)', 'ab'],
    ['slug in (one,x\\=y)', 'ac'],
    ['slug notin (one,x\\=y)', 'bde'],
    ['title notin (prefix)', 'abce'],
    ['name=c', 'c'],
    ['metadata.name=c', 'c'],
    ['name!=c', 'abde'],
    ['name in (a,e)', 'ae'],
    ['name>b,name<=d', 'cd'],
    ['name^=a', 'a'],
    ['tags=red', 'ab'],
    ['tags=(red,a\\,b)', 'abe'],
    ['tags in (blue)', 'a'],
    ['tags=red,tags=blue', 'a'],
    ['tags!=red', 'cde'],
    ['tags notin (red)', 'cde'],
    ['tags="', 'e'],
    ['tags=\\\\', 'e'],
    ['tags=\\\\"', 'e'],
    ['tags={}', 'e'],
    ['tags=NULL', 'e'],
    ['tags=null', ''],
    ['tags in (a"b\\\\c,blue)', 'ae'],
    ['tags notin (\\\\,red)', 'cd'],
    ['priority=1', 'a'],
    ['priority=01', undefined],
    ['priority!=1', 'bcde'],
    ['priority>1', 'be'],
    ['priority>=1', 'abe'],
    ['priority<2', 'ac'],
    ['priority<=2', 'abc'],
    ['priority>-6,priority<0', 'c'],
    ['priority in (1,10)', 'ae'],
    ['priority notin (1,10)', 'bcd'],
    ['priority', 'abce'],
    ['!priority', 'd'],
    ['score=0.5', 'a'],
    ['score=1.0', 'b'],
    ['score<0', 'c'],
    ['score=-1.25', 'c'],
    ['published=true', 'a'],
    ['published!=true', 'bcde'],
    ['published=(true,false)', 'ab'],
    ['!published', 'cde'],
    ['publishedAt=2026-01-01T00:00:00Z', 'a'],
    ['publishedAt=2026-01-01T01:00:00+01:00', 'a'],
    ['publishedAt>2026-01-01T00:00:00Z', 'b'],
    ['publishedAt<2026-05-01T00:00:00Z', 'a'],
    ['title^=pre', 'cde'],
    ['title^=pre_', 'c'],
    ['title^=pre_fix%', 'c'],
    ['title^=\u{10ffff}', 'b'],
    ['title^=\u{10ffff}\ud7ff', 'b'],
    ['title^=\u{10ffff}\ud7ffy', ''],
    ['title=pre', 'e'],
    ['title>pre,title<prefix', 'c'],
    ['metadata.creationTimestamp>2020-01-01T00:00:00Z', 'abcde'],
    ['metadata.creationTimestamp<2020-01-01T00:00:00Z', ''],
    ['!metadata.deletionTimestamp', 'abcde'],
    ['metadata.deletionTimestamp', ''],
    ['big=1', ''],
    ['', 'abcde'],
  ])('%j', async (fieldSelector, expected) => {
    const got = await selected({ fieldSelector });
    if (expected !== undefined) expect(got).toBe(expected);
    else expect(got).toMatch(/^(a|400 .*)$/); // either reading of a leading zero
  });

  test('tests presence on a multi-value index', async () => {
    expect(await selected({ fieldSelector: 'tags' })).toBe('abe');
    expect(await selected({ fieldSelector: '!tags' })).toBe('cd');
  });

  test('is combined with AND if repeated, and with labels', async () => {
    expect(await selected({ fieldSelector: ['tags=red', 'priority>1'] })).toBe('b');
    expect(await selected({ fieldSelector: 'tags=red', labelSelector: 'tier=gold' })).toBe('a');
    expect(
      await selected({
        fieldSelector: 'priority>0',
        labelSelector: 'tier',
        sort: 'priority,desc',
        page: '1',
        size: '2',
      }),
    ).toBe('eb');
  });

  test.each([
    ['an integer', 'priority=abc'],
    ['an integer with a fraction', 'priority=1.5'],
    ['an integer beyond 2^63', 'big=9223372036854775808'],
    ['an integer, one of a set', 'priority in (1,x)'],
    ['an empty integer', 'priority='],
    ['a number', 'score=1,2'],
    ['an invalid number', 'score=NaN'],
    ['an infinite number', 'score=Infinity'],
    ['a boolean', 'published=yes'],
    ['a date', 'publishedAt=yesterday'],
    ['a date that does not exist', 'publishedAt=2026-02-30T00:00:00Z'],
    ['a built-in date', 'metadata.creationTimestamp>x'],
    ['a text with U+0000', 'slug=a\0b'],
  ])('a value that does not parse is 400: %s', async (_, fieldSelector) => {
    const { status, body } = await client.get(withQuery(articles, { fieldSelector }));
    expect([status, body.reason]).toEqual([400, 'BadRequest']);
  });

  test.each([
    '=',
    '=a',
    '!',
    'slug~a',
    'slug in',
    'slug in (a',
    'slug=(a',
    ',',
    'slug=a,',
    ',slug=a',
    'slug=a,,tags=b',
    'slug x',
    '!slug=a',
    'slug=a\\',
    'slug=a\\x',
  ])('%j is malformed: 400', async (fieldSelector) => {
    const { status, body } = await client.get(withQuery(articles, { fieldSelector }));
    expect([fieldSelector, status, body.reason]).toEqual([fieldSelector, 400, 'BadRequest']);
  });

  test.each([
    'spec.nope=1',
    'body=x',
    'spec.body',
    '!spec.extra',
    'metadata.uid=x',
    'constructor=x',
    '__proto__=x',
    'SLUG=one',
  ])('%j is not indexed: 400 that lists the indexed fields', async (fieldSelector) => {
    const { status, body } = await client.get(withQuery(articles, { fieldSelector }));
    expect([status, body.reason]).toEqual([400, 'BadRequest']);
    const told = JSON.stringify(body.details.causes);
    expect(told).toContain(/[\w.]+/.exec(fieldSelector)![0]);
    for (const name of ['slug', 'tags', 'priority', 'publishedAt', 'metadata.name']) expect(told).toContain(name);
  });

  test('the message names an unsupported field as Kubernetes does', async () => {
    expect((await client.get(`${articles}?fieldSelector=spec.nope%3D1`)).body.message).toContain(
      'field label not supported: spec.nope',
    );
  });

  test('a selectable field is an index by its path', async () => {
    const by = async (fieldSelector: string) => names(await client.get(withQuery(reports, { fieldSelector }))).join('');
    expect([
      await by('spec.color=red'),
      await by('spec.color!=red'),
      await by('!spec.color'),
      await by('spec.color=red,metadata.name=r'),
    ]).toEqual(['r', 'st', 't', 'r']);
  });

  test('watch and delete refuse the same selectors', async () => {
    for (const query of [{ fieldSelector: 'spec.nope=1' }, { labelSelector: '=' }, { fieldSelector: 'priority=x' }]) {
      expect((await client.get(withQuery(articles, { watch: 'true', timeoutSeconds: '1', ...query }))).status).toBe(
        400,
      );
      expect((await client.delete(withQuery(articles, query))).status).toBe(400);
    }
    expect(await selected({})).toBe('abcde');
  });

  test('a very long selector is answered or refused', async () => {
    for (const fieldSelector of [
      `slug in (${Array.from({ length: 400 }, (_, i) => `s${i}`).join(',')},one)`,
      Array.from({ length: 300 }, () => 'slug!=x').join(','),
      `slug=${'('.repeat(3000)}`,
    ]) {
      expect([200, 400, 414, 431]).toContain((await client.get(withQuery(articles, { fieldSelector }))).status);
    }
  });
});
