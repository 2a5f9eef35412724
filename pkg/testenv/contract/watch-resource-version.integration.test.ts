import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defaultHandlerOptions } from '#pkg/apiserver/index';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call } from './api-call.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';
import { eventRevision, RecordedWatch, type WatchStreamOptions } from './recorded-watch.ts';

let env: TestEnv;
let posts: Registered;

beforeAll(async () => {
  env = await startTestEnv({
    replicas: 2,
    handlers: { watch: { ...defaultHandlerOptions.watch, heartbeatMs: 100, bookmarkMs: 200 } },
  });
  posts = await register(env);
  for (const name of ['z', 'y', 'x']) await createOrThrow(env, posts.path, posts.object(name));
});

afterAll(() => env?.stop());

async function recordWatch(query: string, count: number, options: WatchStreamOptions = {}): Promise<RecordedWatch> {
  const stream = await RecordedWatch.open(env, `${posts.path}?${query}`, options);
  try {
    return await stream.untilCount(count);
  } finally {
    stream.close();
  }
}

const far = '9007199254740000';
const current = async (): Promise<string> => (await call(env, posts.path)).body.metadata.resourceVersion;

describe('the start of a watch', () => {
  test.each([
    ['absent', ''],
    ['empty', 'resourceVersion='],
    ['0', 'resourceVersion=0'],
  ])('resourceVersion %s: every object as ADDED, then what follows', async (_case, query) => {
    const stream = await RecordedWatch.open(env, `${posts.path}?${query}`);
    await stream.untilCount(3);
    expect(stream.story.toSorted()).toEqual(['ADDED x', 'ADDED y', 'ADDED z']);
    const created = await createOrThrow(env, posts.path, posts.object(`live-${_case}`));
    await stream.untilCount(4);
    expect(stream.changes[3]).toEqual({ type: 'ADDED', object: created });
    stream.close();
    await call(env, `${posts.path}/live-${_case}`, { method: 'DELETE' });
  });

  test('resourceVersion N: everything after N and nothing else', async () => {
    const first = await current();
    const second = await createOrThrow(env, posts.path, posts.object('n1'));
    const third = await createOrThrow(env, posts.path, posts.object('n2'));
    const all = await recordWatch(`resourceVersion=${first}`, 2);
    expect(all.story).toEqual(['ADDED n1', 'ADDED n2']);
    expect(all.changes.map(eventRevision)).toEqual(
      [second, third].map(({ metadata }) => BigInt(metadata.resourceVersion)),
    );
    const rest = await recordWatch(`resourceVersion=${second.metadata.resourceVersion}`, 1);
    expect(rest.story).toEqual(['ADDED n2']);
    await Promise.all(['n1', 'n2'].map((name) => call(env, `${posts.path}/${name}`, { method: 'DELETE' })));
  });

  test('resourceVersion of the newest object: silence until the next change', async () => {
    const stream = await RecordedWatch.open(
      env,
      `${posts.path}?resourceVersion=${await current()}&allowWatchBookmarks=true`,
    );
    await stream.until(({ bookmarks }) => bookmarks.length > 0);
    expect(stream.changes).toEqual([]);
    stream.close();
  });
});

describe('revisions that no watch can start from', () => {
  test('from the future: 504 after the wait, with Retry-After and the cause', async () => {
    const before = Date.now();
    const answer = await call(env, `${posts.path}?watch=true&resourceVersion=${far}`);
    expect(Date.now() - before).toBeGreaterThan(1_000);
    expect(Date.now() - before).toBeLessThan(8_000);
    expect(answer.status).toBe(504);
    expect(answer.body.reason).toBe('Timeout');
    expect(answer.body.message).toMatch(new RegExp(`^Timeout: Too large resource version: ${far}, current: \\d+$`));
    expect(answer.body.details.causes).toEqual([expect.objectContaining({ reason: 'ResourceVersionTooLarge' })]);
    expect(answer.body.details.retryAfterSeconds).toBe(1);
    expect(answer.headers.get('retry-after')).toBe('1');
  });

  test('from the near future, which arrives in time: a watch', async () => {
    const now = BigInt(await current());
    const opening = RecordedWatch.open(env, `${posts.path}?resourceVersion=${now + 1n}`);
    await createOrThrow(env, posts.path, posts.object('arrives-1'));
    await createOrThrow(env, posts.path, posts.object('arrives-2'));
    const stream = await opening;
    await stream.until(({ story }) => story.includes('ADDED arrives-2'));
    // The first is the requested revision, unless another object in the database has it.
    expect(stream.story.filter((each) => each !== 'ADDED arrives-1')).toEqual(['ADDED arrives-2']);
    stream.close();
    await Promise.all([1, 2].map((n) => call(env, `${posts.path}/arrives-${n}`, { method: 'DELETE' })));
  });

  test.each(['abc', '-1', '1.5', '1e3', ' 1', '0x10', '99999999999999999999999999'])(
    'resourceVersion=%s is 400',
    async (version) => {
      const answer = await call(env, `${posts.path}?watch=true&resourceVersion=${encodeURIComponent(version)}`);
      expect([version, answer.status]).toEqual([version, 400]);
    },
  );

  test('an unreadable Last-Event-ID is 400, never a start over', async () => {
    const answer = await call(env, `${posts.path}?watch=true`, {
      headers: { accept: 'text/event-stream', 'last-event-id': 'junk' },
    });
    expect(answer.status).toBe(400);
  });

  test('older than the history: ERROR 410 Expired in a 200 stream, then the end; a new list continues', async () => {
    await env.servers[0]!.store.compact({ minAgeMs: 0, maxSizeBytes: 0, idempotencyKeyAgeMs: 60_000 });
    // The second server started after revision 1, so that its memory has no events from then.
    const stream = await RecordedWatch.open(env, `${posts.path}?resourceVersion=1`, { server: 1 });
    await stream.untilEnd();
    expect(stream.failure).toBeUndefined();
    expect(stream.events).toHaveLength(1);
    expect(stream.events[0]).toMatchObject({
      type: 'ERROR',
      object: { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 },
    });
    expect(stream.events[0]!.object.message).toMatch(/^too old resource version: 1 \(\d+\)$/);
    const sse = await RecordedWatch.open(env, posts.path, { server: 1, sse: true, headers: { 'last-event-id': '1' } });
    await sse.untilEnd();
    expect(sse.events[0]).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    const created = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${await current()}`);
    await createOrThrow(env, posts.path, posts.object('fresh'));
    await created.untilCount(1);
    expect(created.story).toEqual(['ADDED fresh']);
    created.close();
    await call(env, `${posts.path}/fresh`, { method: 'DELETE' });
  });
});

describe('sendInitialEvents', () => {
  const streaming = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

  test('true: ADDED for all, then the bookmark that marks their end, then changes', async () => {
    const stream = await RecordedWatch.open(env, `${posts.path}?${streaming}`);
    await stream.until(({ bookmarks }) => bookmarks.length > 0);
    const types = stream.events.map(({ type }) => type);
    expect(types.slice(0, types.indexOf('BOOKMARK') + 1)).toEqual(['ADDED', 'ADDED', 'ADDED', 'BOOKMARK']);
    const marker = stream.bookmarks[0]!.object;
    expect(marker).toMatchObject({
      apiVersion: posts.apiVersion,
      kind: 'Post',
      metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } },
    });
    await createOrThrow(env, posts.path, posts.object('follows'));
    await stream.untilCount(4);
    expect(stream.story.at(-1)).toBe('ADDED follows');
    expect(
      stream.bookmarks.filter(({ object }) => object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true'),
    ).toHaveLength(1);
    stream.close();
    await call(env, `${posts.path}/follows`, { method: 'DELETE' });
  });

  test.each([
    ['resourceVersion empty', `${streaming}&resourceVersion=`],
    ['resourceVersion 0', `${streaming}&resourceVersion=0`],
    ['a current version', `${streaming}&resourceVersion=1`],
  ])('%s starts the same', async (_case, query) => {
    const stream = await RecordedWatch.open(env, `${posts.path}?${query}`);
    await stream.until(({ bookmarks }) => bookmarks.length > 0);
    expect(stream.changes).toHaveLength(3);
    stream.close();
  });

  test('an empty collection: only the bookmark', async () => {
    const stream = await RecordedWatch.open(env, `${posts.path}?${streaming}&labelSelector=nobody`);
    await stream.until(({ bookmarks }) => bookmarks.length > 0);
    expect(stream.changes).toEqual([]);
    expect(stream.bookmarks[0]!.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    stream.close();
  });

  test('false: no initial objects even without a resourceVersion', async () => {
    const stream = await RecordedWatch.open(
      env,
      `${posts.path}?sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
    );
    await stream.until(({ bookmarks }) => bookmarks.length > 0);
    expect(stream.changes).toEqual([]);
    stream.close();
  });

  test.each([
    ['without resourceVersionMatch', 'watch=true&sendInitialEvents=true&allowWatchBookmarks=true'],
    [
      'with Exact',
      'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=Exact&resourceVersion=1',
    ],
    ['with an unknown match', 'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=Zzz'],
    ['resourceVersionMatch on a watch without it', 'watch=true&resourceVersionMatch=NotOlderThan&resourceVersion=1'],
    ['on a list', 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'],
  ])('%s is 422', async (_case, query) => {
    const answer = await call(env, `${posts.path}?${query}`);
    expect([answer.status, answer.body.reason]).toEqual([422, 'Invalid']);
  });
});
