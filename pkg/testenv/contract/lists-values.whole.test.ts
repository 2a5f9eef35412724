import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, names, withQuery, type ContractClient } from './client.ts';
import { apiVersion, article, articles, registerModels } from './models.ts';

let env: TestEnv;
let client: ContractClient;
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
beforeEach(async () => {
  await client.delete(articles);
});
afterAll(() => env.stop());

async function store(specs: Record<string, unknown>[]): Promise<void> {
  const answers = await Promise.all(
    specs.map((spec, i) => client.post(articles, article(`v-${String(i).padStart(3, '0')}`, spec))),
  );
  for (const { status, text } of answers) if (status !== 201) throw new Error(`Not stored: ${text}`);
}

async function found(fieldSelector: string): Promise<string[]> {
  const answer = await client.get(withQuery(articles, { fieldSelector }));
  if (answer.status !== 200) throw new Error(`${fieldSelector}: ${answer.text}`);
  return names(answer);
}

async function valuesBy(field: string, sort: string): Promise<unknown[]> {
  const { body } = await client.get(withQuery(articles, { sort }));
  return body.items.map(({ spec }) => spec[field]);
}

test('numbers are found and sorted by their exact value', async () => {
  const scores = [
    ...new Set(
      [
        0,
        0.1,
        0.1 + 0.2,
        0.3,
        -1e-7,
        5e-324,
        123456.789,
        2 ** 53 - 1,
        ...fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), { numRuns: 40, seed: 7 }),
      ].filter((each) => !Object.is(each, -0) && (!Number.isInteger(each) || Number.isSafeInteger(each))),
    ),
  ];
  await store(scores.map((score) => ({ score })));
  expect(await valuesBy('score', 'score,asc')).toEqual(scores.toSorted((a, b) => a - b));
  expect(await valuesBy('score', 'score,desc')).toEqual(scores.toSorted((a, b) => b - a));
  for (const [i, score] of scores.entries())
    expect(await found(`score=${score}`)).toEqual([`v-${String(i).padStart(3, '0')}`]);
});

test('integers are found and sorted exactly', async () => {
  const values = [
    0n,
    1n,
    -1n,
    2n ** 53n,
    2n ** 53n + 1n,
    2n ** 53n + 2n,
    -(2n ** 53n) - 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
  ];
  const stored: bigint[] = [];
  for (const [i, big] of values.entries()) {
    const text = `{"apiVersion":"${apiVersion}","kind":"Article","metadata":{"name":"i-${i}"},"spec":{"big":${big}}}`;
    const { status } = await client.post(articles, text);
    if (status === 201) stored.push(big);
    else expect(status).toBe(422);
  }
  const { text } = await client.get(`${articles}?sort=big`);
  expect([...text.matchAll(/"big":(-?\d+)/g)].map(([, big]) => big)).toEqual(
    stored.toSorted((a, b) => (a < b ? -1 : 1)).map(String),
  );
  for (const big of stored) {
    expect(await found(`big=${big}`)).toHaveLength(1);
    expect(await found(`big>${big}`)).toHaveLength(stored.filter((each) => each > big).length);
  }
});

test('texts are found, whatever they contain', async () => {
  const character = fc.constantFrom(...Array.from('abZ09,=\\%_\'"*?.:/-éß😀\u4e2d\u0301 ('));
  const inner = fc.string({ unit: character, maxLength: 12 }).map((text) => `x${text}x`);
  const texts = [
    ...new Set([...fc.sample(inner, { numRuns: 40, seed: 11 }), 'true', 'null', '1', 'in', 'x notin (y)']),
  ];
  await store(texts.map((slug) => ({ slug })));
  const escape = (text: string) => text.replaceAll(/[\\,=]/g, '\\$&');
  for (const [i, text] of texts.entries()) {
    const name = `v-${String(i).padStart(3, '0')}`;
    expect([text, await found(`slug=${escape(text)}`)]).toEqual([text, [name]]);
    expect([text, await found(`slug^=${escape(text)}`)]).toEqual([
      text,
      texts.flatMap((each, n) => (each.startsWith(text) ? [`v-${String(n).padStart(3, '0')}`] : [])),
    ]);
  }
});

test('dates compare as points in time', async () => {
  const dates = [
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.1Z',
    '2026-01-01T00:00:00.12Z',
    '2026-01-01T00:00:00.123456Z',
    '2026-01-01T00:00:01+00:00',
    '2025-12-31T23:00:00-02:00',
    '1969-12-31T23:59:59Z',
    '9999-12-31T23:59:59Z',
    '0001-01-01T00:00:00Z',
  ];
  await store(dates.map((publishedAt) => ({ publishedAt })));
  const order = [8, 6, 0, 1, 2, 3, 4, 5, 7].map((i) => dates[i]);
  expect(await valuesBy('publishedAt', 'publishedAt')).toEqual(order);
  for (const [i, date] of dates.entries())
    expect([date, await found(`publishedAt=${date}`)]).toEqual([date, [`v-00${i}`]]);
  expect(await found('publishedAt>2026-01-01T00:00:00.12Z,publishedAt<2026-01-01T00:00:01Z')).toEqual(['v-003']);
});

test('an object is found by the creationTimestamp it shows', async () => {
  await store([{}, {}]);
  const { metadata } = (await client.get(`${articles}/v-000`)).body;
  expect(await found(`metadata.creationTimestamp=${metadata.creationTimestamp}`)).toContain('v-000');
  expect(await found(`metadata.creationTimestamp<=${metadata.creationTimestamp}`)).toContain('v-000');
  expect(await found(`metadata.creationTimestamp>${metadata.creationTimestamp}`)).not.toContain('v-000');
});

interface State {
  tags: string[];
  priority: number | undefined;
  label: string | undefined;
}

test('after any writes the selectors find the current objects', async () => {
  const name = fc.constantFrom('s-a', 's-b', 's-c', 's-d');
  const state = fc.record({
    tags: fc.subarray(['x', 'y', 'z']),
    priority: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    label: fc.option(fc.constantFrom('p', 'q'), { nil: undefined }),
  });
  const operation = fc.tuple(fc.constantFrom('put', 'post', 'patch', 'delete'), name, state);
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 15 }), async (operations) => {
      await client.delete(articles);
      const model = new Map<string, State>();
      for (const [verb, at, next] of operations) {
        const path = `${articles}/${at}`;
        const body = article(
          at,
          { tags: next.tags, ...(next.priority === undefined ? {} : { priority: next.priority }) },
          next.label === undefined ? {} : { labels: { label: next.label } },
        );
        const known = model.get(at);
        if (verb === 'delete') {
          expect((await client.delete(path)).status).toBe(known ? 200 : 404);
          model.delete(at);
        } else if (verb === 'post') {
          expect((await client.post(articles, body)).status).toBe(known ? 409 : 201);
          if (!known) model.set(at, next);
        } else if (verb === 'put') {
          expect((await client.put(path, body)).status).toBe(known ? 200 : 404);
          if (known) model.set(at, next);
        } else {
          const patch = {
            spec: { tags: next.tags, priority: next.priority ?? null },
            metadata: { labels: next.label === undefined ? null : { label: next.label } },
          };
          expect((await client.patch(path, patch)).status).toBe(known ? 200 : 404);
          if (known) model.set(at, next);
        }
      }
      const expected = (holds: (state: State) => boolean) =>
        [...model].flatMap(([at, each]) => (holds(each) ? [at] : [])).toSorted();
      expect(await found('tags=x')).toEqual(expected(({ tags }) => tags.includes('x')));
      expect(await found('tags notin (y,z)')).toEqual(
        expected(({ tags }) => !tags.includes('y') && !tags.includes('z')),
      );
      expect(await found('priority>=2')).toEqual(expected(({ priority }) => priority !== undefined && priority >= 2));
      expect(await found('!priority')).toEqual(expected(({ priority }) => priority === undefined));
      const { body } = await client.get(`${articles}?labelSelector=label!%3Dp&page=1&size=2`);
      const unlike = expected(({ label }) => label !== 'p');
      expect([body.total, body.items.map(({ metadata }) => metadata.name)]).toEqual([
        unlike.length,
        unlike.slice(0, 2),
      ]);
      expect((await client.get(`${articles}?page=1&size=1`)).body.total).toBe(model.size);
    }),
    { numRuns: 25 },
  );
});
