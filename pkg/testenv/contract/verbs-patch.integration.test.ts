import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { clientOf, jsonPatch, mergePatch, type ContractClient, type WireBody } from './client.ts';
import { article, articles, registerModels, reports } from './models.ts';
import { watchedUntil } from './watched-until.ts';

let env: TestEnv;
let client: ContractClient;
let stored: WireBody;
let count = 0;
let path = '';
beforeAll(async () => {
  env = await startTestEnv();
  client = clientOf(env);
  await registerModels(client);
});
beforeEach(async () => {
  const { body } = await client.post(
    articles,
    article(`patch-${(count += 1)}`, { title: 'a', tags: ['x', 'y'], extra: { a: { b: 1, c: 2 } } }),
  );
  stored = body;
  path = `${articles}/${body.metadata.name}`;
});
afterAll(() => env.stop());

describe('a merge patch', () => {
  test.each([
    [
      'sets a field',
      { spec: { priority: 1 } },
      { title: 'a', tags: ['x', 'y'], extra: { a: { b: 1, c: 2 } }, priority: 1 },
    ],
    ['removes by null', { spec: { title: null } }, { tags: ['x', 'y'], extra: { a: { b: 1, c: 2 } } }],
    [
      'merges objects',
      { spec: { extra: { a: { b: null, d: 3 } } } },
      { title: 'a', tags: ['x', 'y'], extra: { a: { c: 2, d: 3 } } },
    ],
    ['replaces lists', { spec: { tags: ['z'] } }, { title: 'a', tags: ['z'], extra: { a: { b: 1, c: 2 } } }],
  ])('%s', async (_, patch, spec) => {
    const { status, body } = await client.patch(path, patch);
    expect([status, body.spec, body.metadata.generation]).toEqual([200, spec, 2]);
    expect((await client.get(path)).body).toEqual(body);
  });

  test('uses its resourceVersion as a precondition', async () => {
    const { resourceVersion } = stored.metadata;
    expect((await client.patch(path, { metadata: { resourceVersion }, spec: { title: 'b' } })).status).toBe(200);
    const { status, body } = await client.patch(path, { metadata: { resourceVersion }, spec: { title: 'c' } });
    expect([status, body.reason]).toEqual([409, 'Conflict']);
  });

  test.each(['"x"', '[]', 'null', '7', '{', ''])('%j is a client error', async (patch) => {
    expect([400, 422]).toContain((await client.patch(path, patch)).status);
    expect((await client.get(path)).body).toEqual(stored);
  });
});

describe('a JSON patch', () => {
  test.each([
    ['add', [{ op: 'add', path: '/spec/priority', value: 1 }], { priority: 1 }],
    ['add to a list', [{ op: 'add', path: '/spec/tags/-', value: 'z' }], { tags: ['x', 'y', 'z'] }],
    ['insert', [{ op: 'add', path: '/spec/tags/0', value: 'z' }], { tags: ['z', 'x', 'y'] }],
    ['remove', [{ op: 'remove', path: '/spec/tags/0' }], { tags: ['y'] }],
    ['replace', [{ op: 'replace', path: '/spec/title', value: 'b' }], { title: 'b' }],
    ['copy', [{ op: 'copy', from: '/spec/title', path: '/spec/body' }], { body: 'a' }],
    ['move', [{ op: 'move', from: '/spec/extra/a', path: '/spec/extra/z' }], { extra: { z: { b: 1, c: 2 } } }],
    [
      'test and replace',
      [
        { op: 'test', path: '/spec/title', value: 'a' },
        { op: 'replace', path: '/spec/title', value: 'b' },
      ],
      { title: 'b' },
    ],
    ['escapes', [{ op: 'add', path: '/spec/extra/x~1y~0z', value: 1 }], { extra: { a: { b: 1, c: 2 }, 'x/y~z': 1 } }],
  ])('%s', async (_, patch, spec) => {
    const { status, body } = await client.patch(path, patch, jsonPatch);
    expect([status, body.spec]).toEqual([200, expect.objectContaining(spec)]);
  });

  test.each([
    ['a failed test', [{ op: 'test', path: '/spec/title', value: 'z' }]],
    [
      'a failed test after a change',
      [
        { op: 'replace', path: '/spec/title', value: 'z' },
        { op: 'test', path: '/spec/title', value: 'a' },
      ],
    ],
    ['removing a missing value', [{ op: 'remove', path: '/spec/absent' }]],
    ['replacing a missing value', [{ op: 'replace', path: '/spec/absent', value: 1 }]],
    ['an index out of range', [{ op: 'add', path: '/spec/tags/7', value: 'z' }]],
    ['a missing parent', [{ op: 'add', path: '/spec/absent/a', value: 1 }]],
  ])('%s is 422 and changes nothing', async (_, patch) => {
    const { status, body } = await client.patch(path, patch, jsonPatch);
    expect([status, body.reason, body.message]).toEqual([
      422,
      'Invalid',
      'the server rejected our request due to an error in our request',
    ]);
    expect((await client.get(path)).body).toEqual(stored);
  });

  test.each([
    ['no list', {}],
    ['an unknown operation', [{ op: 'bogus', path: '/spec' }]],
    ['no path', [{ op: 'add', value: 1 }]],
    ['no value', [{ op: 'add', path: '/spec/title' }]],
    ['a path without a slash', [{ op: 'add', path: 'spec', value: 1 }]],
    ['a number', [7]],
    ['removal of the whole document', [{ op: 'remove', path: '' }]],
    ['replacement of the whole document by a string', [{ op: 'replace', path: '', value: 'x' }]],
    ['metadata away', [{ op: 'remove', path: '/metadata' }]],
    ['a move into itself', [{ op: 'move', from: '/spec', path: '/spec/extra' }]],
    ['unlimited growth', Array.from({ length: 60 }, () => ({ op: 'copy', from: '/spec', path: '/spec/extra/a' }))],
  ])('%s is a client error', async (_, patch) => {
    expect([400, 413, 422]).toContain((await client.patch(path, patch, jsonPatch)).status);
    expect((await client.get(path)).body).toEqual(stored);
  });
});

describe('any patch', () => {
  test.each([
    ['an empty merge patch', {}, mergePatch],
    ['an empty JSON patch', [], jsonPatch],
    ['a merge patch with the current values', { spec: { title: 'a' } }, mergePatch],
    [
      'a JSON patch that reverts itself',
      [
        { op: 'replace', path: '/spec/title', value: 'z' },
        { op: 'replace', path: '/spec/title', value: 'a' },
      ],
      jsonPatch,
    ],
  ])('%s is a no-op without an event', async (_, patch, headers) => {
    const { status, body } = await client.patch(path, patch, headers);
    expect([status, body]).toEqual([200, stored]);
    const last = `sentinel-${stored.metadata.name}`;
    await client.post(articles, article(last));
    expect(await watchedUntil(env, articles, { resourceVersion: stored.metadata.resourceVersion, last })).toEqual([]);
  });

  test('without resourceVersion is retried after a conflict: nothing is lost', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.patch(path, { spec: { extra: { [`k${i}`]: i } } })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(Object.keys((await client.get(path)).body.spec['extra'] as object)).toHaveLength(21);
  });

  test.each([
    [
      'merge',
      {
        metadata: {
          uid: 'x',
          creationTimestamp: '2001-01-01T00:00:00Z',
          generation: 9,
          deletionTimestamp: '2001-01-01T00:00:00Z',
        },
      },
      mergePatch,
    ],
    [
      'JSON',
      [
        { op: 'remove', path: '/metadata/uid' },
        { op: 'replace', path: '/metadata/creationTimestamp', value: '2001-01-01T00:00:00Z' },
      ],
      jsonPatch,
    ],
  ])('never changes what the server sets: %s', async (_, patch, headers) => {
    expect([200, 409, 422]).toContain((await client.patch(path, patch, headers)).status);
    const { metadata } = (await client.get(path)).body;
    expect([metadata.uid, metadata.creationTimestamp, metadata.deletionTimestamp]).toEqual([
      stored.metadata.uid,
      stored.metadata.creationTimestamp,
      undefined,
    ]);
  });

  test('of a missing object is 404', async () => {
    for (const [patch, headers] of [
      [{}, mergePatch],
      [[], jsonPatch],
    ] as const) {
      expect((await client.patch(`${articles}/absent`, patch, headers)).status).toBe(404);
    }
  });

  test.each([
    'application/strategic-merge-patch+json',
    'application/json',
    'text/plain',
    'application/merge-patch',
    'nonsense',
    'application/x-www-form-urlencoded',
  ])('of type %s is 415', async (type) => {
    await client.post(reports, { ...article('typed'), kind: 'Report' });
    for (const at of [path, `${reports}/typed/status`]) {
      const { status, body } = await client.patch(at, {}, { 'content-type': type });
      expect([status, body.reason]).toEqual([415, 'UnsupportedMediaType']);
      expect(body.message).toContain(
        'accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
      );
    }
  });

  test('accepts parameters of the media type', async () => {
    expect(
      (
        await client.patch(
          path,
          { spec: { title: 'b' } },
          { 'content-type': 'application/merge-patch+json; charset=utf-8' },
        )
      ).status,
    ).toBe(200);
  });
});
