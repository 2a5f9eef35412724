import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type ContractClient, type WireBody } from './client.ts';
import { article, articles, registerModels, report, reports } from './models.ts';

interface Sample {
  name: string;
  tier: string | null;
  title: string | null;
  tags: string[];
  priority: number | null;
  published: boolean | null;
}

const titles = ['a', 'b', 'ab', 'b,c'];
const samples: Sample[] = Array.from({ length: 40 }, (_, i) => ({
  name: `m-${String((i * 17) % 40).padStart(2, '0')}`,
  tier: [null, 'gold', 'silver'][i % 3]!,
  title: [null, ...titles][i % 5]!,
  tags: [[], ['x'], ['y'], ['x', 'y']][i % 4]!,
  priority: i % 7 === 0 ? null : (i % 6) - 2,
  published: [null, true, false][Math.floor(i / 3) % 3]!,
}));

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
  await Promise.all(
    samples.map(({ name, tier, tags, ...rest }) => {
      const spec = Object.fromEntries(Object.entries({ ...rest, tags }).filter(([, value]) => value !== null));
      return client.post(articles, article(name, spec, tier === null ? {} : { labels: { tier } }));
    }),
  );
});
afterAll(() => env.stop());

interface Clause {
  kind: 'labelSelector' | 'fieldSelector';
  text: string;
  holds: (sample: Sample) => boolean;
}

const clause: fc.Arbitrary<Clause> = fc.oneof(
  fc
    .constantFrom('gold', 'silver', 'none')
    .chain((value) =>
      fc.constantFrom<Clause>(
        { kind: 'labelSelector', text: `tier=${value}`, holds: ({ tier }) => tier === value },
        { kind: 'labelSelector', text: `tier!=${value}`, holds: ({ tier }) => tier !== value },
        { kind: 'labelSelector', text: `tier in (${value},x)`, holds: ({ tier }) => tier === value },
        { kind: 'labelSelector', text: `tier notin (${value},x)`, holds: ({ tier }) => tier !== value },
        { kind: 'labelSelector', text: 'tier', holds: ({ tier }) => tier !== null },
        { kind: 'labelSelector', text: '!tier', holds: ({ tier }) => tier === null },
      ),
    ),
  fc.integer({ min: -3, max: 4 }).chain((value) =>
    fc.constantFrom<Clause>(
      { kind: 'fieldSelector', text: `priority=${value}`, holds: ({ priority }) => priority === value },
      { kind: 'fieldSelector', text: `priority!=${value}`, holds: ({ priority }) => priority !== value },
      {
        kind: 'fieldSelector',
        text: `priority>${value}`,
        holds: ({ priority }) => priority !== null && priority > value,
      },
      {
        kind: 'fieldSelector',
        text: `priority<=${value}`,
        holds: ({ priority }) => priority !== null && priority <= value,
      },
      {
        kind: 'fieldSelector',
        text: `priority in (${value},0)`,
        holds: ({ priority }) => priority === value || priority === 0,
      },
      {
        kind: 'fieldSelector',
        text: `priority notin (${value},0)`,
        holds: ({ priority }) => priority !== value && priority !== 0,
      },
      { kind: 'fieldSelector', text: 'priority', holds: ({ priority }) => priority !== null },
      { kind: 'fieldSelector', text: '!priority', holds: ({ priority }) => priority === null },
    ),
  ),
  fc.constantFrom(...titles).chain((value) => {
    const escaped = value.replaceAll(',', '\\,');
    return fc.constantFrom<Clause>(
      { kind: 'fieldSelector', text: `title=${escaped}`, holds: ({ title }) => title === value },
      { kind: 'fieldSelector', text: `title!=${escaped}`, holds: ({ title }) => title !== value },
      {
        kind: 'fieldSelector',
        text: `title^=${escaped}`,
        holds: ({ title }) => title !== null && title.startsWith(value),
      },
      {
        kind: 'fieldSelector',
        text: `title in (${escaped},ab)`,
        holds: ({ title }) => title === value || title === 'ab',
      },
    );
  }),
  fc.constantFrom<Clause>(
    { kind: 'fieldSelector', text: 'tags=x', holds: ({ tags }) => tags.includes('x') },
    { kind: 'fieldSelector', text: 'tags!=x', holds: ({ tags }) => !tags.includes('x') },
    { kind: 'fieldSelector', text: 'tags=(x,y)', holds: ({ tags }) => tags.length > 0 },
    { kind: 'fieldSelector', text: 'published=true', holds: ({ published }) => published === true },
    { kind: 'fieldSelector', text: 'published!=false', holds: ({ published }) => published !== false },
    { kind: 'fieldSelector', text: 'name>m-10,name<m-30', holds: ({ name }) => name > 'm-10' && name < 'm-30' },
  ),
);

const sortKey = fc.record({
  field: fc.constantFrom('name', 'title', 'priority', 'published'),
  direction: fc.constantFrom('asc', 'desc', ''),
});

function compare(a: Sample, b: Sample, keys: { field: string; direction: string }[]): number {
  for (const { field, direction } of [...keys, { field: 'name', direction: keys.at(-1)?.direction ?? '' }]) {
    const [x, y] = [a[field as 'name'] as string | null, b[field as 'name'] as string | null];
    const order = x === y ? 0 : x === null ? -1 : y === null ? 1 : x < y ? -1 : 1;
    if (order !== 0) return direction === 'desc' ? -order : order;
  }
  return 0;
}

test('selectors, sort, pages and chunks together give the result of a plain filter and sort', async () => {
  const shape = {
    clauses: fc.array(clause, { maxLength: 4 }),
    keys: fc.uniqueArray(sortKey, { maxLength: 3, selector: ({ field }) => field }),
    size: fc.integer({ min: 1, max: 12 }),
    page: fc.integer({ min: 1, max: 4 }),
  };
  await fc.assert(
    fc.asyncProperty(fc.record(shape), async ({ clauses, keys, size, page }) => {
      const expected = samples
        .filter((each) => clauses.every(({ holds }) => holds(each)))
        .toSorted((a, b) => compare(a, b, keys))
        .map(({ name }) => name);
      const by = (kind: string) => clauses.filter((each) => each.kind === kind).map(({ text }) => text);
      const query = {
        labelSelector: by('labelSelector'),
        fieldSelector: [by('fieldSelector').join(',')].filter((text) => text !== ''),
        sort: keys.map(({ field, direction }) => (direction === '' ? field : `${field},${direction}`)),
      };
      const paged = await client.get(withQuery(articles, { ...query, page: String(page), size: String(size) }));
      expect([paged.status, names(paged), paged.body.total]).toEqual([
        200,
        expected.slice((page - 1) * size, page * size),
        expected.length,
      ]);
      expect(names(await client.get(withQuery(articles, query)))).toEqual(expected);
      const chunked: string[] = [];
      for (let token: string | undefined = ''; token !== undefined;) {
        const { body }: { body: WireBody } = await client.get(
          withQuery(articles, { ...query, limit: String(size), ...(token === '' ? {} : { continue: token }) }),
        );
        chunked.push(...body.items.map(({ metadata }) => metadata.name));
        token = body.metadata.continue || undefined;
      }
      expect(chunked).toEqual(expected);
    }),
    { numRuns: 60 },
  );
});

test('a list is one snapshot while others write', async () => {
  const done = new AbortController();
  const pairs = ['p0', 'p1', 'p2'];
  for (const pair of pairs) await client.post(reports, report(pair, { size: 0 }));
  const writer = (async () => {
    for (let i = 0; !done.signal.aborted; i += 1) {
      for (const pair of pairs) await client.patch(`${reports}/${pair}`, { spec: { size: (i % 10) + 1 } });
      await client.post(reports, report(`extra-${i}`, { color: 'x' }));
      await client.delete(`${reports}/extra-${i}`);
    }
  })();
  for (let i = 0; i < 60; i += 1) {
    const { body } = await client.get(`${reports}${i % 2 === 0 ? '' : '?page=1&size=100'}`);
    expect(body.total).toBe(body.items.length);
    const newest = body.items.map(({ metadata }) => BigInt(metadata.resourceVersion)).reduce((a, b) => (a > b ? a : b));
    expect(newest).toBeLessThanOrEqual(BigInt(body.metadata.resourceVersion));
    // The writer updates in turn: each report is as new as the next one, or one ahead.
    const sizes = body.items
      .filter(({ metadata }) => pairs.includes(metadata.name))
      .map(({ spec }) => spec['size'] as number);
    const ahead = sizes.map((size) => (size - sizes.at(-1)! + 10) % 10);
    for (const step of ahead) expect([0, 1]).toContain(step);
    expect(ahead).toEqual(ahead.toSorted((a, b) => b - a));
  }
  done.abort();
  await writer;
});
