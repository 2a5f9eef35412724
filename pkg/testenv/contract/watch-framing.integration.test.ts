import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defaultHandlerOptions } from '#pkg/apiserver/index';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, mergePatch } from './api-call.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';
import { eventRevision, RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;
let posts: Registered;

beforeAll(async () => {
  env = await startTestEnv({
    handlers: { watch: { ...defaultHandlerOptions.watch, heartbeatMs: 100, bookmarkMs: 200 } },
  });
  posts = await register(env);
  for (const name of ['b', 'c', 'a']) await createOrThrow(env, posts.path, posts.object(name));
  await call(env, `${posts.path}/b`, { method: 'PATCH', headers: mergePatch, body: { spec: { touched: true } } });
});

afterAll(() => env?.stop());

async function withWatch(
  path: string,
  options: Parameters<typeof RecordedWatch.open>[2],
  body: (stream: RecordedWatch) => Promise<void>,
): Promise<void> {
  const stream = await RecordedWatch.open(env, path, options);
  try {
    await body(stream);
  } finally {
    stream.close();
  }
}

describe('JSON lines', () => {
  test('have one document a line, as application/json, never compressed or cached', async () => {
    await withWatch(posts.path, { headers: { 'accept-encoding': 'gzip' } }, async (stream) => {
      await stream.untilCount(3);
      expect(stream.response.headers.get('content-type')).toMatch(/^application\/json\b/);
      expect(stream.response.headers.get('content-encoding')).toBeNull();
      expect(stream.response.headers.get('cache-control')).toBe('no-cache, private');
      expect(stream.response.headers.get('x-request-id')).toBeTruthy();
      expect(stream.story.toSorted()).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
      for (const { object } of stream.changes)
        expect(object).toMatchObject({ apiVersion: posts.apiVersion, kind: 'Post' });
    });
  });

  test('have each kind of event, with the revision of its change', async () => {
    await withWatch(
      `${posts.path}?resourceVersion=${(await call(env, posts.path)).body.metadata.resourceVersion}`,
      {},
      async (stream) => {
        const added = await createOrThrow(env, posts.path, posts.object('kinds'));
        const changed = await call(env, `${posts.path}/kinds`, {
          method: 'PATCH',
          headers: mergePatch,
          body: { spec: { n: 1 } },
        });
        await call(env, `${posts.path}/kinds`, { method: 'PATCH', headers: mergePatch, body: { spec: { n: 1 } } });
        await call(env, `${posts.path}/kinds`, { method: 'DELETE' });
        await stream.untilCount(3);
        expect(stream.story).toEqual(['ADDED kinds', 'MODIFIED kinds', 'DELETED kinds']);
        const [first, second, third] = stream.changes;
        expect(first!.object).toEqual(added);
        expect(second!.object).toEqual(changed.body);
        expect(third!.object.spec).toEqual({ n: 1 });
        expect(third!.object.metadata.uid).toBe(added.metadata.uid);
        expect(eventRevision(third!)).toBeGreaterThan(eventRevision(second!));
      },
    );
  });

  test('a bare newline keeps a silent stream alive', async () => {
    await withWatch(`${posts.path}?resourceVersion=0&labelSelector=nobody`, {}, async (stream) => {
      await stream.until(({ raw }) => raw.includes('\n') && raw.split('\n').filter((line) => line === '').length >= 3);
    });
  });

  test('have bookmarks only if allowed, of the resource’s kind, with only a revision', async () => {
    await withWatch(`${posts.path}?allowWatchBookmarks=true`, {}, async (asked) => {
      await withWatch(posts.path, {}, async (silent) => {
        await asked.until(({ bookmarks }) => bookmarks.length >= 2);
        const { object } = asked.bookmarks[0]!;
        expect(object).toMatchObject({
          apiVersion: posts.apiVersion,
          kind: 'Post',
          metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
        });
        expect(object.metadata.name ?? '').toBe('');
        expect(silent.bookmarks).toEqual([]);
      });
    });
  });

  test('a bookmark’s revision resumes without loss or repetition', async () => {
    await withWatch(`${posts.path}?allowWatchBookmarks=true`, {}, async (stream) => {
      await stream.until(({ bookmarks, changes }) => bookmarks.length > 0 && changes.length >= 3);
      await createOrThrow(env, posts.path, posts.object('after-bookmark'));
      const from = stream.bookmarks[0]!.object.metadata.resourceVersion;
      await withWatch(`${posts.path}?resourceVersion=${from}`, {}, async (resumed) => {
        await resumed.untilCount(1);
        expect(resumed.story).toEqual(['ADDED after-bookmark']);
      });
      await call(env, `${posts.path}/after-bookmark`, { method: 'DELETE' });
    });
  });

  test('timeoutSeconds ends the stream cleanly, with a last bookmark', async () => {
    const before = Date.now();
    await withWatch(`${posts.path}?timeoutSeconds=1&allowWatchBookmarks=true`, {}, async (stream) => {
      await stream.untilEnd(5_000);
      expect(stream.failure).toBeUndefined();
      expect(Date.now() - before).toBeGreaterThan(900);
      expect(stream.events.at(-1)!.type).toBe('BOOKMARK');
      expect(stream.events.some(({ type }) => type === 'ERROR')).toBe(false);
    });
  });

  test('watch=1, and an empty timeoutSeconds, give a watch', async () => {
    const response = await env.request(`${posts.path}?watch=1&timeoutSeconds=4`);
    const text = await response.text();
    expect(text.split('\n').filter((line) => line !== '')).toHaveLength(3);
  });
});

describe('server-sent events', () => {
  test('have id and data lines, no event lines, and the standard media type', async () => {
    await withWatch(posts.path, { sse: true }, async (stream) => {
      await stream.untilCount(3);
      expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream\b/);
      expect(stream.raw).not.toMatch(/^event:/m);
      for (const event of stream.changes) expect(event.id).toBe(event.object.metadata.resourceVersion);
    });
  });

  test('initial objects are in revision order, so that a client can resume from every id', async () => {
    await withWatch(posts.path, { sse: true }, async (stream) => {
      await stream.untilCount(3);
      expect(stream.story).toEqual(['ADDED c', 'ADDED a', 'ADDED b']);
    });
  });

  test('a reader that is disconnected within the initial objects misses none when it resumes', async () => {
    await withWatch(posts.path, { sse: true }, async (stream) => {
      await stream.untilCount(3);
      const [first] = stream.changes;
      await withWatch(posts.path, { sse: true, headers: { 'last-event-id': first!.id! } }, async (resumed) => {
        await resumed.untilCount(2);
        expect(resumed.changes.map(({ object }) => object.metadata.name)).toEqual(expect.arrayContaining(['a', 'b']));
        expect(resumed.changes.map(({ object }) => object.metadata.name)).not.toContain('c');
      });
    });
  });

  test('Last-Event-ID wins over resourceVersion', async () => {
    const { body } = await call(env, posts.path);
    const last = await createOrThrow(env, posts.path, posts.object('sse-last'));
    await withWatch(
      `${posts.path}?resourceVersion=0`,
      { sse: true, headers: { 'last-event-id': body.metadata.resourceVersion } },
      async (stream) => {
        await stream.untilCount(1);
        expect(stream.changes[0]!.object).toEqual(last);
        await call(env, `${posts.path}/sse-last`, { method: 'DELETE' });
        await stream.untilCount(2);
        expect(stream.story).toEqual(['ADDED sse-last', 'DELETED sse-last']);
      },
    );
  });

  test('a bookmark has its id too, to resume from', async () => {
    await withWatch(`${posts.path}?allowWatchBookmarks=true`, { sse: true }, async (stream) => {
      await stream.until(({ bookmarks }) => bookmarks.length > 0);
      expect(stream.bookmarks[0]!.id).toBe(stream.bookmarks[0]!.object.metadata.resourceVersion);
    });
  });

  test('a silent stream is kept alive by comments, not messages', async () => {
    await withWatch(`${posts.path}?labelSelector=nobody`, { sse: true }, async (stream) => {
      await stream.until(({ raw }) => raw.split('\n').length > 4);
      expect(stream.changes).toEqual([]);
      expect(stream.raw).not.toMatch(/^data: *$/m);
    });
  });
});

describe('other forms', () => {
  test.each(['watch=false', 'watch=0'])('%s is a list', async (query) => {
    const answer = await call(env, `${posts.path}?${query}`);
    expect([answer.status, answer.body.kind]).toEqual([200, 'PostList']);
  });

  test.each([
    'timeoutSeconds=abc',
    'timeoutSeconds=-1',
    'watch=maybe',
    'allowWatchBookmarks=maybe',
    'sendInitialEvents=maybe',
  ])('%s is no server error', async (query) => {
    const response = await env.request(`${posts.path}?watch=true&${query}`);
    expect(response.status).toBeLessThan(500);
    await response.body?.cancel();
  });

  test('YAML cannot be streamed', async () => {
    const answer = await call(env, `${posts.path}?watch=true`, { headers: { accept: 'application/yaml' } });
    expect(answer.status).toBe(406);
    expect(answer.text.replaceAll(/\s+/g, ' ')).toContain(
      'only the following media types are accepted: application/json',
    );
  });

  test('metadata can be watched alone', async () => {
    const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json';
    await withWatch(posts.path, { headers: { accept } }, async (stream) => {
      await stream.untilCount(3);
      for (const { object } of stream.changes) {
        expect(object).toMatchObject({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' });
        expect(object).not.toHaveProperty('spec');
      }
    });
  });
});
