import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, causesOf, retryUntilPasses, mergePatch, type ApiResponse } from './api-call.ts';
import {
  changeDefinition,
  conditionsOf,
  createOrThrow,
  newDefinition,
  definitionsPath,
  register,
  type Registered,
} from './models-definition.ts';
import { RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

const source = (functions: string): string => `"use strict"; var indexKeys = (() => { return { ${functions} }; })();`;
const wordCount = "wordCount: (o) => typeof o.spec.text === 'string' ? o.spec.text.split(' ').length : null";
const letters = "letters: (o) => [...new Set((o.spec.text || '').replace(/ /g, ''))]";
const lower = 'lower: (o) => o.spec.text?.toLowerCase()';
const count = { name: 'spec-word-count', key: 'wordCount', type: 'integer' };
const texts = {
  indexKeys: source(`${wordCount}, ${letters}, ${lower}`),
  indexes: [
    count,
    { name: 'letters', key: 'letters', type: 'string', multi: true },
    { name: 'lower', key: 'lower', type: 'string', unique: true },
  ],
};

const select = (model: Registered, selector: string, server = 0): Promise<ApiResponse> =>
  call(env, `${model.path}?fieldSelector=${encodeURIComponent(selector)}`, { server });
const namesIn = ({ body }: ApiResponse): string[] => body.items.map(({ metadata }) => metadata.name);

/**
 * Retries until the index is built, on a server that may not know it yet; until then only 503 with Retry-After and 400
 * are allowed.
 */
async function whenReady(ask: () => Promise<ApiResponse>): Promise<ApiResponse> {
  return retryUntilPasses(async () => {
    const answer = await ask();
    if (answer.status === 503) expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    if (answer.status === 503 || answer.status === 400) throw new Error(`still ${answer.status}`);
    return answer;
  });
}

async function redefine(model: Registered, fields: Record<string, unknown>): Promise<void> {
  const answer = await changeDefinition(env, model.definition.metadata.name, ({ spec }) =>
    Object.assign(spec.versions[0]!, fields),
  );
  expect([answer.status, answer.text.slice(0, answer.status === 200 ? 0 : 500)]).toEqual([200, '']);
}

const patch = (model: Registered, name: string, body: unknown, query = ''): Promise<ApiResponse> =>
  call(env, `${model.path}/${name}${query}`, { method: 'PATCH', headers: mergePatch, body });

describe('declared with the model', () => {
  let model: Registered;

  beforeAll(async () => {
    model = await register(env, { definitionVersion: { ...texts, subresources: { status: {} } } });
    for (const [name, text] of [
      ['a', 'One two'],
      ['b', 'x y z'],
      ['c', undefined],
      ['d', 'four'],
    ] as const)
      await createOrThrow(env, model.path, model.object(name, text === undefined ? {} : { text }));
  });

  test('lists select and sort by a computed index, on every server, paged and in chunks', async () => {
    for (const server of [0, 1]) {
      expect(namesIn(await select(model, 'spec-word-count>1', server))).toEqual(['a', 'b']);
      expect(namesIn(await select(model, '!spec-word-count', server))).toEqual(['c']);
      expect(namesIn(await select(model, 'letters=(z,f)', server))).toEqual(['b', 'd']);
      expect(namesIn(await select(model, 'lower^=o', server))).toEqual(['a']);
      expect(namesIn(await call(env, `${model.path}?sort=spec-word-count,desc`, { server }))).toEqual([
        'b',
        'a',
        'd',
        'c',
      ]);
      const chunk = await call(env, `${model.path}?sort=spec-word-count,desc&limit=2`, { server });
      const rest = await call(
        env,
        `${model.path}?sort=spec-word-count,desc&limit=2&continue=${encodeURIComponent(chunk.body.metadata.continue!)}`,
        { server },
      );
      expect([...namesIn(chunk), ...namesIn(rest)]).toEqual(['b', 'a', 'd', 'c']);
    }
    expect((await call(env, `${model.path}?sort=letters`)).status).toBe(400);
  });

  test('a duplicate in a unique index is 409 with its name, on create, update and dry run, also after a change', async () => {
    for (const query of ['', '?dryRun=All']) {
      const clash = await call(env, `${model.path}${query}`, {
        method: 'POST',
        body: model.object('e', { text: 'ONE TWO' }),
        server: 1,
      });
      expect([clash.status, clash.body.details.causes![0]!.field]).toEqual([409, 'lower']);
    }
    expect((await patch(model, 'd', { spec: { text: 'One TWO' } })).status).toBe(409);
    await patch(model, 'a', { spec: { text: 'one TWO three' } });
    expect(
      (await call(env, model.path, { method: 'POST', body: model.object('e', { text: 'ONE TWO' }), server: 1 })).status,
    ).toBe(201);
    expect(namesIn(await select(model, 'spec-word-count=2'))).toEqual(['e']);
  });

  test('status, finalizers and deletion keep the key, and a deletion by the key deletes only matching objects', async () => {
    await createOrThrow(
      env,
      model.path,
      model.object('f', { text: 'p q r s t' }, { metadata: { name: 'f', finalizers: ['example.com/held'] } }),
    );
    await createOrThrow(env, model.path, model.object('g', { text: 'p q r s t u' }));
    expect((await patch(model, 'f', { status: { seen: true } }, '/status')).status).toBe(200);
    expect((await call(env, `${model.path}/f`, { method: 'DELETE' })).status).toBe(200);
    expect(namesIn(await select(model, 'spec-word-count=5'))).toEqual(['f']);
    await patch(model, 'f', { metadata: { finalizers: [] } });
    expect(namesIn(await select(model, 'spec-word-count>=5'))).toEqual(['g']);
    await call(env, `${model.path}?fieldSelector=${encodeURIComponent('spec-word-count>5')}`, { method: 'DELETE' });
    expect(namesIn(await select(model, 'spec-word-count>=1'))).toEqual(['a', 'b', 'd', 'e']);
  });

  test('a watch with a computed key shows objects that enter and leave, live and from history, on both servers', async () => {
    const { resourceVersion } = (await call(env, model.path)).body.metadata;
    const path = `${model.path}?fieldSelector=${encodeURIComponent('spec-word-count>1')}&resourceVersion=${resourceVersion}`;
    const live = await Promise.all([0, 1].map((server) => RecordedWatch.open(env, path, { server })));
    await createOrThrow(env, model.path, model.object('w', { text: 'alone' }));
    for (const text of ['two words', 'two others', 'alone again now', 'single'])
      await patch(model, 'w', { spec: { text } });
    await patch(model, 'w', { spec: { text: 'back again' } });
    await call(env, `${model.path}/w`, { method: 'DELETE' });
    const story = ['ADDED w', 'MODIFIED w', 'MODIFIED w', 'DELETED w', 'ADDED w', 'DELETED w'];
    const history = await Promise.all([0, 1].map((server) => RecordedWatch.open(env, path, { server })));
    for (const stream of [...live, ...history]) {
      expect((await stream.untilCount(6)).story).toEqual(story);
      stream.close();
    }
  });
});

describe('422 that names the index', () => {
  const rows: [reason: string, functions: string, cause: string | RegExp][] = [
    [
      'a throw',
      "f: (o) => { if (o.spec.bad) throw new Error('not this one'); return 1; }",
      'it: FieldValueInvalid: Invalid value: index it: f threw Error: not this one',
    ],
    [
      'another type',
      "f: (o) => o.spec.bad ? 'text' : 1",
      'it: FieldValueTypeInvalid: Invalid value: "text": index it: must be an integer between',
    ],
    [
      'a hang',
      'f: (o) => { while (o.spec.bad); return 1; }',
      'it: FieldValueInvalid: Invalid value: index it: its functions ran longer than 51 ms',
    ],
    [
      'a hang in a getter',
      'f: (o) => { Promise.resolve().then(() => { while (o.spec.bad); }); return 1; }',
      'it: FieldValueInvalid: Invalid value: index it: its functions ran longer than 51 ms',
    ],
    [
      // On a slow machine the time of the allocating function may end before memory runs out.
      'all memory in one step',
      "f: (o) => o.spec.bad ? 'x'.repeat(2 ** 28).split('').length : 1",
      /it: FieldValueInvalid: Invalid value: index it: the process that runs its functions (ran out of memory|could not be interrupted)/,
    ],
    [
      'no key',
      'f: (o) => o.spec.bad ? null : 1',
      'it: FieldValueRequired: Required value: index it takes no object without a key',
    ],
  ];
  test.each(rows)('%s, while other objects are stored', async (_reason, functions, cause) => {
    const model = await register(env, {
      definitionVersion: {
        indexKeys: source(functions),
        indexes: [{ name: 'it', key: 'f', type: 'integer', nullable: false }],
      },
    });
    const answers = await Promise.all(
      Array.from({ length: 9 }, (_, i) =>
        call(env, model.path, { method: 'POST', body: model.object(`o${i}`, i === 4 ? { bad: true } : {}) }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201, 422, 201, 201, 201, 201]);
    const expected = [typeof cause === 'string' ? expect.stringContaining(cause) : expect.stringMatching(cause)];
    expect(causesOf(answers[4]!)).toEqual(expected);
    const refused = await patch(model, 'o1', { spec: { bad: true } });
    expect([refused.status, causesOf(refused)]).toEqual([422, expected]);
    expect(namesIn(await select(model, 'it=1'))).toHaveLength(8);
  });
});

describe('a definition is refused', () => {
  const rows: [reason: string, fields: Record<string, unknown>, cause: string][] = [
    [
      'whose text is invalid',
      { indexKeys: 'var indexKeys = {', indexes: [count] },
      'spec.versions[0].indexKeys: FieldValueInvalid: Invalid value: Unexpected',
    ],
    [
      'whose text throws',
      { indexKeys: 'process.exit()', indexes: [count] },
      'spec.versions[0].indexKeys: FieldValueInvalid: Invalid value: ReferenceError: process is not defined',
    ],
    [
      'whose text does not end',
      { indexKeys: 'for (;;);', indexes: [count] },
      'spec.versions[0].indexKeys: FieldValueInvalid: Invalid value: it takes too long',
    ],
    [
      'without the function',
      { indexKeys: source('other: () => 1, wordCount: 3'), indexes: [count] },
      'spec.versions[0].indexes[0].key: FieldValueInvalid: Invalid value: "wordCount": the text exports no function wordCount',
    ],
    ['without a text', { indexes: [count] }, 'spec.versions[0].indexKeys: FieldValueRequired'],
    [
      'with too long a text',
      { indexKeys: `// ${'x'.repeat(256 * 1024)}\n${source(wordCount)}`, indexes: [count] },
      'spec.versions[0].indexKeys: FieldValueTooLong',
    ],
    [
      'with a path and a key',
      { indexKeys: source(wordCount), indexes: [{ ...count, path: 'spec.n' }] },
      'spec.versions[0].indexes[0].key: FieldValueForbidden',
    ],
    [
      'with neither',
      { indexes: [{ name: 'n', type: 'integer' }] },
      'spec.versions[0].indexes[0].path: FieldValueRequired',
    ],
    [
      'with a key that is not a name',
      { indexKeys: source(wordCount), indexes: [{ ...count, key: 'a.b' }] },
      'spec.versions[0].indexes[0].key: FieldValueInvalid',
    ],
    [
      'with a prototype key',
      { indexKeys: source(wordCount), indexes: [{ ...count, key: 'constructor' }] },
      'spec.versions[0].indexes[0].key: FieldValueInvalid',
    ],
    [
      'with several unique values',
      {
        indexKeys: source(letters),
        indexes: [{ name: 'l', key: 'letters', type: 'string', multi: true, unique: true }],
      },
      'spec.versions[0].indexes[0].unique: FieldValueForbidden',
    ],
    [
      'with a built-in name',
      { indexKeys: source(wordCount), indexes: [{ ...count, name: 'metadata.name' }] },
      'spec.versions[0].indexes[0].name: FieldValueForbidden',
    ],
  ];
  test.each(rows)('%s', async (_reason, fields, cause) => {
    const answer = await call(env, definitionsPath, {
      method: 'POST',
      body: newDefinition({ definitionVersion: fields }),
    });
    expect([answer.status, causesOf(answer)]).toEqual([422, [expect.stringContaining(cause)]]);
  });

  test('whose versions have different texts', async () => {
    const { versions } = newDefinition({ definitionVersion: { indexKeys: source(wordCount), indexes: [count] } }).spec;
    const second = { ...versions[0], name: 'v2', storage: false, indexKeys: source(`${wordCount}, more: () => 1`) };
    const answer = await call(env, definitionsPath, {
      method: 'POST',
      body: newDefinition({ versions: [versions[0]!, second] }),
    });
    expect([answer.status, causesOf(answer)]).toEqual([
      422,
      [expect.stringContaining('spec.versions[1].indexKeys: FieldValueForbidden')],
    ]);
  });
});

describe('on existing data', () => {
  test('an added index is filled in the background; a changed one is rebuilt; both servers use the new function', async () => {
    const model = await register(env);
    for (let i = 0; i < 50; i += 1)
      await createOrThrow(
        env,
        model.path,
        model.object(`o${String(i).padStart(2, '0')}`, { text: 'x '.repeat(i % 5).trim() || undefined }),
      );
    await redefine(model, { indexKeys: source(wordCount), indexes: [count] });
    for (const server of [0, 1])
      expect(namesIn(await whenReady(() => select(model, 'spec-word-count=4', server)))).toHaveLength(10);
    await retryUntilPasses(async () =>
      expect((await conditionsOf(env, model.definition.metadata.name))['IndexesReady']?.status).toBe('True'),
    );
    const { resourceVersion } = (await call(env, model.path)).body.metadata;
    const stream = await RecordedWatch.open(
      env,
      `${model.path}?fieldSelector=${encodeURIComponent('spec-word-count=4')}`,
      { server: 1 },
    );
    await redefine(model, { indexKeys: source("wordCount: (o) => (o.spec.text || '').length"), indexes: [count] });
    expect(
      (await call(env, model.path, { method: 'POST', body: model.object('new', { text: 'seven77' }), server: 1 }))
        .status,
    ).toBe(201);
    await stream.untilEnd();
    for (const server of [0, 1]) {
      await retryUntilPasses(async () =>
        expect(namesIn(await whenReady(() => select(model, 'spec-word-count=7', server)))).toContain('new'),
      );
      expect(namesIn(await select(model, 'spec-word-count=7', server))).toHaveLength(11);
    }
    // The keys computed then are unknown now: a client that watched by them must list again.
    const old = await call(
      env,
      `${model.path}?watch=true&fieldSelector=spec-word-count%3D7&resourceVersion=${resourceVersion}`,
    );
    expect(JSON.parse(old.text)).toMatchObject({ type: 'ERROR', object: { code: 410, reason: 'Expired' } });
  });

  test('an index fails if its function throws, names the object, and recovers when the object changes', async () => {
    const model = await register(env);
    for (const text of ['fine', 'wrong']) await createOrThrow(env, model.path, model.object(text, { text }));
    await redefine(model, {
      indexKeys: source(
        "wordCount: (o) => { if (o.spec.text === 'wrong') throw new Error('cannot count'); return 1; }",
      ),
      indexes: [count],
    });
    const { name } = model.definition.metadata;
    await retryUntilPasses(async () => {
      const { IndexesReady } = await conditionsOf(env, name);
      expect([IndexesReady?.reason, IndexesReady?.message]).toEqual([
        'BuildFailed',
        'building failed: spec-word-count: the function fails for wrong',
      ]);
    });
    expect((await select(model, 'spec-word-count=1')).status).toBe(503);
    expect((await patch(model, 'wrong', { metadata: { labels: { a: 'b' } } })).status).toBe(422);
    expect((await patch(model, 'wrong', { spec: { text: 'right' } })).status).toBe(200);
    await redefine(model, { indexes: [count, { name: 'text', path: 'spec.text', type: 'string' }] });
    expect(namesIn(await whenReady(() => select(model, 'spec-word-count=1')))).toEqual(['fine', 'wrong']);
  });

  test('an index has writes that any server accepted while it was built', async () => {
    const model = await register(env);
    const writing = Promise.all(
      [0, 1].map(async (server) => {
        for (let i = 0; i < 40; i += 1)
          expect(
            (
              await call(env, model.path, {
                method: 'POST',
                body: model.object(`w${server}-${i}`, { text: 'a b' }),
                server,
              })
            ).status,
          ).toBe(201);
      }),
    );
    await redefine(model, { indexKeys: source(wordCount), indexes: [count] });
    await writing;
    for (const server of [0, 1])
      expect(
        namesIn(
          await whenReady(() => call(env, `${model.path}?size=100&fieldSelector=spec-word-count%3D2`, { server })),
        ),
      ).toHaveLength(80);
  });
});
