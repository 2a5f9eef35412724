import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch, type ApiResponse } from './api-call.ts';
import {
  anySpec,
  changeDefinition,
  conditionsOf,
  createOrThrow,
  schemaWithSpec,
  register,
  version,
  type Registered,
  type Schema,
} from './models-definition.ts';
import { RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

const select = (model: Registered, selector: string, server = 0): Promise<ApiResponse> =>
  call(env, `${model.path}?fieldSelector=${encodeURIComponent(selector)}`, { server });
const namesIn = ({ body }: ApiResponse): string[] => body.items.map(({ metadata }) => metadata.name);

/** Retries until the index is built; until then only 503 with Retry-After is allowed. */
async function whenReady(ask: () => Promise<ApiResponse>): Promise<ApiResponse> {
  return retryUntilPasses(async () => {
    const answer = await ask();
    if (answer.status === 503) {
      expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
      throw new Error('still being built');
    }
    return answer;
  });
}

async function addIndexes(model: Registered, ...indexes: unknown[]): Promise<void> {
  const answer = await changeDefinition(env, model.definition.metadata.name, ({ spec }) => {
    spec.versions[0]!['indexes'] = indexes;
  });
  expect([answer.status, answer.text.slice(0, answer.status === 200 ? 0 : 500)]).toEqual([200, '']);
}

describe('an index that is added to existing data', () => {
  test('gives 503 with Retry-After until it is built, then right results on every server, and the status shows it', async () => {
    const model = await register(env);
    for (let i = 0; i < 60; i += 1)
      await createOrThrow(
        env,
        model.path,
        model.object(
          `p${String(i).padStart(2, '0')}`,
          i % 10 === 9 ? {} : { color: i % 2 ? 'red' : 'blue', n: i, tags: [`t${i % 3}`, 'all'] },
        ),
      );
    const before = await select(model, 'spec.color=red');
    expect(before.status).toBe(400);
    await addIndexes(
      model,
      { name: 'spec.color', path: 'spec.color', type: 'string' },
      { name: 'number', path: 'spec.n', type: 'integer' },
      { name: 'tags', path: 'spec.tags[*]', type: 'string', multi: true },
    );
    for (const server of [0, 1]) {
      await retryUntilPasses(async () => expect((await select(model, 'spec.color=red', server)).status).not.toBe(400));
      const red = await whenReady(() => select(model, 'spec.color=red', server));
      expect([red.status, namesIn(red).length]).toEqual([200, 24]);
      const big = await whenReady(() => select(model, 'number>=50', server));
      expect(namesIn(big)).toEqual(['p50', 'p51', 'p52', 'p53', 'p54', 'p55', 'p56', 'p57', 'p58']);
      expect(namesIn(await whenReady(() => select(model, 'tags=(t0,t9)', server)))).toHaveLength(18);
      expect(namesIn(await whenReady(() => select(model, '!spec.color', server)))).toHaveLength(6);
      const sorted = await call(env, `${model.path}?sort=number,desc&size=3`, { server });
      expect(namesIn(sorted)).toEqual(['p58', 'p57', 'p56']);
    }
    await retryUntilPasses(async () =>
      expect((await conditionsOf(env, model.definition.metadata.name))['IndexesReady']?.status).toBe('True'),
    );
    const unsorted = await call(env, `${model.path}?sort=spec.color`);
    expect(unsorted.status).toBe(200);
  });

  test('finds objects that were written while it was built', async () => {
    const model = await register(env);
    const writing = (async () => {
      for (let i = 0; i < 80; i += 1) await createOrThrow(env, model.path, model.object(`w${i}`, { color: 'red' }));
    })();
    await addIndexes(model, { name: 'color', path: 'spec.color', type: 'string' });
    await writing;
    await retryUntilPasses(async () => expect((await select(model, 'color=red')).status).not.toBe(400));
    expect(namesIn(await whenReady(() => select(model, 'color=red')))).toHaveLength(80);
  });

  test('uses the new path after a change, and is 400 after its removal', async () => {
    const model = await register(env, {
      definitionVersion: { indexes: [{ name: 'it', path: 'spec.a', type: 'string' }] },
    });
    await createOrThrow(env, model.path, model.object('x', { a: '1', b: '2' }));
    expect(namesIn(await whenReady(() => select(model, 'it=1')))).toEqual(['x']);
    await addIndexes(model, { name: 'it', path: 'spec.b', type: 'string' });
    await retryUntilPasses(async () => expect(namesIn(await whenReady(() => select(model, 'it=2')))).toEqual(['x']));
    expect(namesIn(await select(model, 'it=1'))).toEqual([]);
    await addIndexes(model);
    await retryUntilPasses(async () => expect((await select(model, 'it=2')).status).toBe(400));
  });

  test('a later default of the schema is used by reads, selectors and sorts', async () => {
    const index = { indexes: [{ name: 'color', path: 'spec.color', type: 'string' }] };
    const model = await register(env, { definitionVersion: index });
    await createOrThrow(env, model.path, model.object('old'));
    await changeDefinition(env, model.definition.metadata.name, ({ spec }) => {
      spec.versions = [
        version(
          'v1',
          schemaWithSpec({ type: 'object', properties: { color: { type: 'string', default: 'red' } } }),
          index,
        ),
      ];
    });
    await retryUntilPasses(async () =>
      expect((await call(env, `${model.path}/old`)).body.spec).toEqual({ color: 'red' }),
    );
    await retryUntilPasses(async () => {
      const [found, none] = await Promise.all([
        whenReady(() => select(model, 'color=red')),
        whenReady(() => select(model, '!color')),
      ]);
      expect([namesIn(found), namesIn(none)]).toEqual([['old'], []]);
    });
  });

  test('does not break objects whose values it cannot hold', async () => {
    const model = await register(env);
    await createOrThrow(env, model.path, model.object('odd', { n: 'text' }));
    await createOrThrow(env, model.path, model.object('even', { n: 2 }));
    await createOrThrow(env, model.path, model.object('long', { n: 'x'.repeat(5_000) }));
    await addIndexes(model, { name: 'n', path: 'spec.n', type: 'integer' });
    await retryUntilPasses(async () => expect((await select(model, 'n=2')).status).not.toBe(400));
    expect((await call(env, `${model.path}/odd`)).status).toBe(200);
    expect(namesIn(await call(env, model.path))).toEqual(['even', 'long', 'odd']);
    expect((await select(model, 'n=2')).status).not.toBe(500);
  });
});

test('is never ready if it is unique and values are duplicate, reports it, and breaks nothing else', async () => {
  const model = await register(env);
  for (const name of ['a', 'b']) await createOrThrow(env, model.path, model.object(name, { slug: 'same' }));
  await addIndexes(
    model,
    { name: 'by-slug', path: 'spec.slug', type: 'string', unique: true },
    { name: 'fine', path: 'spec.slug', type: 'string' },
  );
  const { name } = model.definition.metadata;
  await retryUntilPasses(async () => {
    const { IndexesReady } = await conditionsOf(env, name);
    expect([IndexesReady?.status, IndexesReady?.message]).toEqual(['False', expect.stringContaining('by-slug')]);
  });
  expect((await select(model, 'by-slug=same')).status).toBe(503);
  await retryUntilPasses(async () =>
    expect(namesIn(await whenReady(() => select(model, 'fine=same')))).toEqual(['a', 'b']),
  );
  expect(
    (
      await call(env, `${model.path}/a`, {
        method: 'PATCH',
        headers: mergePatch,
        body: { metadata: { labels: { a: 'b' } } },
      })
    ).status,
  ).toBe(200);
  await addIndexes(model, { name: 'fine', path: 'spec.slug', type: 'string' });
  await retryUntilPasses(async () => expect((await conditionsOf(env, name))['IndexesReady']?.status).toBe('True'));
});

describe('a unique index', () => {
  let model: Registered;

  beforeAll(async () => {
    model = await register(env, {
      definitionVersion: { indexes: [{ name: 'by-slug', path: 'spec.slug', type: 'string', unique: true }] },
    });
    await whenReady(() => select(model, 'by-slug=none'));
    await createOrThrow(env, model.path, model.object('first', { slug: 's' }));
  });

  test('gives 409 with its name on create, update and patch, and nothing is stored', async () => {
    await createOrThrow(env, model.path, model.object('second', { slug: 'other' }));
    const answers = [
      await call(env, model.path, { method: 'POST', body: model.object('third', { slug: 's' }), server: 1 }),
      await call(env, `${model.path}/second`, { method: 'PUT', body: model.object('second', { slug: 's' }) }),
      await call(env, `${model.path}/second`, { method: 'PATCH', headers: mergePatch, body: { spec: { slug: 's' } } }),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(409);
      expect(answer.text).toContain('by-slug');
    }
    expect((await call(env, `${model.path}/third`)).status).toBe(404);
    expect((await call(env, `${model.path}/second`)).body.spec).toEqual({ slug: 'other' });
  });

  test('ignores objects without a value, and frees the value of a deleted object', async () => {
    await createOrThrow(env, model.path, model.object('none-1'));
    await createOrThrow(env, model.path, model.object('none-2'));
    await createOrThrow(env, model.path, model.object('gone', { slug: 'gone' }));
    await call(env, `${model.path}/gone`, { method: 'DELETE' });
    await createOrThrow(env, model.path, model.object('gone-2', { slug: 'gone' }));
  });

  test('gives a value to exactly one of sixteen concurrent writes on both servers', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) =>
        call(env, model.path, { server: i % 2, method: 'POST', body: model.object(`race-${i}`, { slug: 'race' }) }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array.from({ length: 15 }, () => 409),
    ]);
    expect(namesIn(await select(model, 'by-slug=race'))).toHaveLength(1);
  });
});

describe('values', () => {
  const rules: [string, Record<string, unknown>, Record<string, unknown>, number][] = [
    ['a value of a kilobyte', { type: 'string' }, { f: 'x'.repeat(1_000) }, 201],
    ['a value above a kilobyte', { type: 'string' }, { f: 'x'.repeat(1_025) }, 422],
    ['null if it is not allowed', { type: 'string', nullable: false }, {}, 422],
    ['null if it is allowed', { type: 'string' }, {}, 201],
  ];
  test.each(rules)('%s', async (_case, more, spec, status) => {
    const model = await register(env, { definitionVersion: { indexes: [{ name: 'f', path: 'spec.f', ...more }] } });
    const answer = await call(env, model.path, { method: 'POST', body: model.object('a', spec) });
    expect(answer.status).toBe(status);
    if (status === 422) expect(JSON.stringify(answer.body.details)).toContain('f');
  });

  test.each([
    ['string', 'a=b,c\\d', 'f=a\\=b\\,c\\\\d'],
    ['integer', 9_007_199_254_740_991, 'f=9007199254740991'],
    ['number', 1.5, 'f=1.5'],
    ['boolean', true, 'f=true'],
    ['date', '2026-01-02T03:04:05Z', 'f=2026-01-02T03:04:05Z'],
  ])('%s: found by its value, unparsable ones are 400', async (type, value, selector) => {
    const model = await register(env, {
      spec: anySpec,
      definitionVersion: { indexes: [{ name: 'f', path: 'spec.f', type }] },
    });
    await createOrThrow(env, model.path, model.object('a', { f: value }));
    await createOrThrow(env, model.path, model.object('b', {}));
    expect(namesIn(await whenReady(() => select(model, selector)))).toEqual(['a']);
    expect(namesIn(await select(model, 'f'))).toEqual(['a']);
    expect(namesIn(await select(model, '!f'))).toEqual(['b']);
    if (type !== 'string') expect((await select(model, 'f=junk')).status).toBe(400);
  });
});

test('selectableFields are indexes: list, watch, deletecollection', async () => {
  const spec: Schema = {
    type: 'object',
    properties: { color: { type: 'string' }, n: { type: 'integer' }, on: { type: 'boolean' } },
  };
  const model = await register(env, {
    spec,
    definitionVersion: {
      selectableFields: [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.n' }, { jsonPath: '.spec.on' }],
    },
  });
  for (let i = 0; i < 6; i += 1)
    await createOrThrow(env, model.path, model.object(`p${i}`, { color: i % 2 ? 'red' : 'blue', n: i, on: i < 3 }));
  expect(namesIn(await whenReady(() => select(model, 'spec.color=red')))).toEqual(['p1', 'p3', 'p5']);
  expect(namesIn(await whenReady(() => select(model, 'spec.n=4')))).toEqual(['p4']);
  expect(namesIn(await whenReady(() => select(model, 'spec.on=true,spec.color!=red')))).toEqual(['p0', 'p2']);
  const stream = await RecordedWatch.open(env, `${model.path}?fieldSelector=spec.color%3Dred`);
  await stream.untilCount(3);
  await call(env, `${model.path}/p1`, { method: 'PATCH', headers: mergePatch, body: { spec: { color: 'blue' } } });
  await stream.untilCount(4);
  expect(stream.story.at(-1)).toBe('DELETED p1');
  stream.close();
  const refused = await select(model, 'spec.other=1');
  expect(refused.status).toBe(400);
  for (const name of ['spec.color', 'spec.n', 'spec.on', 'metadata.name']) expect(refused.text).toContain(name);
  expect((await call(env, `${model.path}?fieldSelector=spec.color%3Dred`, { method: 'DELETE' })).status).toBe(200);
  expect(namesIn(await call(env, model.path))).toEqual(['p0', 'p1', 'p2', 'p4']);
});
