import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses, mergePatch } from './api-call.ts';
import {
  anySpec,
  changeDefinition,
  createOrThrow,
  definitionsPath,
  schemaWithSpec,
  onEveryServer,
  register,
  version,
} from './models-definition.ts';
import { RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
});

afterAll(() => env?.stop());

const schemaWith = (more: Record<string, unknown>): Record<string, unknown> =>
  schemaWithSpec({ type: 'object', properties: { both: { type: 'string' }, ...more } });

describe('when its definition is deleted', () => {
  test.each([
    ['JSON lines on the server that deletes', { server: 0 }],
    ['JSON lines on another', { server: 1 }],
    ['SSE', { server: 1, sse: true }],
  ])('%s: DELETED for every object, then a clean end', async (_case, options) => {
    const posts = await register(env);
    for (const name of ['a', 'b', 'c']) await createOrThrow(env, posts.path, posts.object(name));
    const stream = await RecordedWatch.open(env, posts.path, options);
    await stream.untilCount(3);
    expect((await call(env, `${definitionsPath}/${posts.definition.metadata.name}`, { method: 'DELETE' })).status).toBe(
      200,
    );
    await stream.untilEnd();
    expect(stream.failure).toBeUndefined();
    expect(stream.story.slice(3).toSorted()).toEqual(['DELETED a', 'DELETED b', 'DELETED c']);
    await onEveryServer(env, posts.path, 404);
  });

  test.each([0, 1])(
    'disconnected while it was deleted and registered again: a resumed watch on server %i does not miss the deletion',
    async (server) => {
      const posts = await register(env);
      await createOrThrow(env, posts.path, posts.object('old'));
      const { resourceVersion } = (await call(env, posts.path)).body.metadata;
      await call(env, `${definitionsPath}/${posts.definition.metadata.name}`, { method: 'DELETE' });
      await retryUntilPasses(async () =>
        expect((await call(env, `${definitionsPath}/${posts.definition.metadata.name}`)).status).toBe(404),
      );
      await register(env, posts.definition);
      await createOrThrow(env, posts.path, posts.object('new'));
      const stream = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${resourceVersion}`, { server });
      await stream.until(({ ended, story }) => ended || story.includes('ADDED new'));
      // An Expired error, which asks for a new list, is fine too: a cache must not keep `old` for ever.
      expect([['DELETED old', 'ADDED new'], ['ERROR Expired']]).toContainEqual(stream.story);
      stream.close();
    },
  );

  test('a watch of definitions has ADDED, the changes to Established, and DELETED', async () => {
    const start = (await call(env, definitionsPath)).body.metadata.resourceVersion;
    const stream = await RecordedWatch.open(env, `${definitionsPath}?resourceVersion=${start}`, { server: 1 });
    const posts = await register(env);
    const { name } = posts.definition.metadata;
    await call(env, `${definitionsPath}/${name}`, { method: 'DELETE' });
    await stream.until(({ story }) => story.at(-1) === `DELETED ${name}`);
    const mine = stream.changes.filter(({ object }) => object.metadata.name === name);
    expect(mine[0]!.type).toBe('ADDED');
    expect(mine.at(-1)!.type).toBe('DELETED');
    expect(mine.some(({ object }) => JSON.stringify(object.status ?? {}).includes('"type":"Established"'))).toBe(true);
    stream.close();
  });
});

describe('when its definition changes', () => {
  test('the schema: a clean end, and a resumed watch continues without a gap', async () => {
    const posts = await register(env);
    const first = await createOrThrow(env, posts.path, posts.object('a'));
    const streams = await Promise.all([0, 1].map((server) => RecordedWatch.open(env, posts.path, { server })));
    await Promise.all(streams.map((stream) => stream.untilCount(1)));
    await changeDefinition(env, posts.definition.metadata.name, ({ spec }) => {
      spec.versions = [version('v1', schemaWithSpec({ type: 'object', properties: { kept: { type: 'integer' } } }))];
    });
    await Promise.all(streams.map((stream) => stream.untilEnd()));
    expect(streams.map(({ failure, story }) => [failure, story])).toEqual(streams.map(() => [undefined, ['ADDED a']]));
    await createOrThrow(env, posts.path, posts.object('b', { kept: 1 }));
    const resumed = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${first.metadata.resourceVersion}`, {
      server: 1,
    });
    await resumed.untilCount(1);
    expect(resumed.story).toEqual(['ADDED b']);
    resumed.close();
  });

  test('a version that is no longer served ends its watches and keeps those of the other', async () => {
    const versions = [
      version('v1', schemaWithSpec(anySpec)),
      version('v2', schemaWithSpec(anySpec), { storage: false }),
    ];
    const posts = await register(env, { versions });
    const old = posts.path.replace('/v1/', '/v2/');
    await onEveryServer(env, old, 200);
    const stream = await RecordedWatch.open(env, old);
    await changeDefinition(env, posts.definition.metadata.name, ({ spec }) => {
      spec.versions[1]!['served'] = false;
    });
    await stream.untilEnd();
    expect(stream.failure).toBeUndefined();
    expect(stream.story).toEqual([]);
    await onEveryServer(env, old, 404);
    await onEveryServer(env, posts.path, 200);
  });

  test('a change of another model ends no watch', async () => {
    const [posts, others] = await Promise.all([register(env), register(env)]);
    const stream = await RecordedWatch.open(env, posts.path);
    await changeDefinition(env, others.definition.metadata.name, ({ spec }) => {
      spec.versions = [version('v1', schemaWithSpec({ type: 'object' }))];
    });
    await call(env, `${definitionsPath}/${others.definition.metadata.name}`, { method: 'DELETE' });
    await onEveryServer(env, others.path, 404);
    await createOrThrow(env, posts.path, posts.object('still'));
    await stream.untilCount(1);
    expect([stream.ended, stream.story]).toEqual([false, ['ADDED still']]);
    stream.close();
  });

  test('labels on the definition end no watch', async () => {
    const posts = await register(env);
    const stream = await RecordedWatch.open(env, posts.path);
    await call(env, `${definitionsPath}/${posts.definition.metadata.name}`, {
      method: 'PATCH',
      headers: mergePatch,
      body: { metadata: { labels: { a: 'b' } } },
    });
    await createOrThrow(env, posts.path, posts.object('still'));
    await stream.untilCount(1);
    expect(stream.ended).toBe(false);
    stream.close();
  });
});

describe('objects in another version', () => {
  test('events have the version of the watch, pruned and defaulted by its schema', async () => {
    const versions = [
      version('v1', schemaWith({ old: { type: 'string', default: 'o' } })),
      version('v2', schemaWith({ fresh: { type: 'string', default: 'f' } }), { storage: false }),
    ];
    const posts = await register(env, { versions });
    const streams = await Promise.all(
      ['v1', 'v2'].map((name) => RecordedWatch.open(env, posts.path.replace('/v1/', `/${name}/`))),
    );
    await createOrThrow(env, posts.path, posts.object('a', { both: 'b' }));
    await call(env, `${posts.path}/a`, { method: 'DELETE' });
    await Promise.all(streams.map((stream) => stream.untilCount(2)));
    for (const [i, stream] of streams.entries()) {
      for (const { object } of stream.changes) {
        expect(object.apiVersion).toBe(`${posts.group}/v${i + 1}`);
        expect(object.spec).toEqual(i === 0 ? { both: 'b', old: 'o' } : { both: 'b', fresh: 'f' });
      }
      stream.close();
    }
  });
});

test('a server that stops ends its watches cleanly, with a last bookmark if allowed', async () => {
  const own = await startTestEnv({ replicas: 2 });
  try {
    const posts = await register(own);
    const created = await createOrThrow(own, posts.path, posts.object('a'));
    const plain = await RecordedWatch.open(own, posts.path);
    const marked = await RecordedWatch.open(own, `${posts.path}?allowWatchBookmarks=true`);
    const sse = await RecordedWatch.open(own, posts.path, { sse: true });
    const streams = [plain, marked, sse];
    await Promise.all(streams.map((stream) => stream.untilCount(1)));
    const [leaving] = own.servers;
    const stopped = leaving!.stop();
    await Promise.all(streams.map((stream) => stream.untilEnd()));
    await stopped;
    expect(streams.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
    expect(marked.events.at(-1)!.type).toBe('BOOKMARK');
    expect(BigInt(marked.events.at(-1)!.object.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      BigInt(created.metadata.resourceVersion),
    );
    const other = await RecordedWatch.open(own, posts.path, {
      server: 1,
      sse: true,
      headers: { 'last-event-id': sse.changes[0]!.id! },
    });
    const second = await call(own, posts.path, { server: 1, method: 'POST', body: posts.object('b') });
    await retryUntilPasses(() => expect(other.changes.map(({ object }) => object)).toEqual([second.body]));
    other.close();
  } finally {
    own.servers.shift();
    await own.stop();
  }
});
