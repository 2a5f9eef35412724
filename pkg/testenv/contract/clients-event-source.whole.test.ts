import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { defaultHandlerOptions } from '#pkg/apiserver/index';
import { CuttingProxy } from '../cutting-proxy.ts';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, mergePatch } from './api-call.ts';
import { FetchEventSource } from './clients-event-source.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';
import { RecordedWatch, type SeenEvent } from './recorded-watch.ts';

let env: TestEnv;
let posts: Registered;

beforeAll(async () => {
  env = await startTestEnv({
    handlers: {
      watch: {
        ...defaultHandlerOptions.watch,
        heartbeatMs: 50,
        bookmarkMs: 100,
        minDurationMs: 200,
        maxDurationMs: 400,
      },
    },
  });
  posts = await register(env);
});

afterAll(() => env?.stop());

const fingerprint = ({ type, object }: SeenEvent): string =>
  `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`;
const changesOf = ({ messages }: FetchEventSource): SeenEvent[] =>
  messages.map(({ data }) => JSON.parse(data) as SeenEvent).filter(({ type }) => type !== 'BOOKMARK');

async function writeSome(tag: string): Promise<void> {
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; i < 20; i += 1) {
        await createOrThrow(env, posts.path, posts.object(`${tag}-${writer}-${i}`));
        await call(env, `${posts.path}/${tag}-${writer}-${i}`, {
          method: 'PATCH',
          headers: mergePatch,
          body: { spec: { i } },
        });
      }
    }),
  );
  await createOrThrow(env, posts.path, posts.object(`${tag}-end`));
}

/**
 * All events since a revision, read afterwards; the server may end the watch at any time, so it continues from there.
 */
async function expectedSince(revision: string, last: string): Promise<string[]> {
  const seen: SeenEvent[] = [];
  let from = revision;
  while (seen.at(-1)?.object.metadata.name !== last) {
    const stream = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${from}`);
    await stream.until(({ ended, changes }) => ended || changes.at(-1)?.object.metadata.name === last);
    seen.push(...stream.changes);
    from = seen.at(-1)?.object.metadata.resourceVersion ?? from;
    stream.close();
  }
  return seen.map(fingerprint);
}

test('if the server ends streams repeatedly, every change arrives once, in order', async () => {
  const start = (await call(env, posts.path)).body.metadata.resourceVersion;
  const source = new FetchEventSource(`${env.url}${posts.path}?watch=true&resourceVersion=${start}`, env.token);
  await writeSome('ended');
  await source.until((it) => changesOf(it).at(-1)?.object.metadata.name === 'ended-end' && it.connections > 2);
  expect(changesOf(source).map(fingerprint)).toEqual(await expectedSince(start, 'ended-end'));
  expect(source.failed).toBe(false);
  await source.close();
});

test('if connections break, every change arrives once, in order', async () => {
  const start = (await call(env, posts.path)).body.metadata.resourceVersion;
  const { proxy, connection } = await CuttingProxy.start({ host: '127.0.0.1', port: Number(new URL(env.url).port) });
  const source = new FetchEventSource(
    `http://${connection.host}:${connection.port}${posts.path}?watch=true&resourceVersion=${start}`,
    env.token,
  );
  const over = new AbortController();
  const cutting = (async () => {
    // Each connection lives until it has an event, however slow the machine is.
    for (let seen = 0; !over.signal.aborted;) {
      await source.until((it) => it.connections > seen);
      seen = source.connections;
      await proxy.cut(1);
    }
  })();
  try {
    await writeSome('cut');
    await source.until((it) => it.connections > 3);
    over.abort();
    await cutting;
    await source.until((it) => changesOf(it).at(-1)?.object.metadata.name === 'cut-end');
    expect(changesOf(source).map(fingerprint)).toEqual(await expectedSince(start, 'cut-end'));
  } finally {
    over.abort();
    await cutting;
    await source.close();
    await proxy.stop();
  }
});

test('without a resourceVersion, existing objects arrive, then changes, and nothing twice after reconnects', async () => {
  const own = await register(env);
  for (const name of ['c', 'a', 'b']) await createOrThrow(env, own.path, own.object(name));
  const source = new FetchEventSource(`${env.url}${own.path}?watch=true`, env.token);
  await source.until((it) => changesOf(it).length >= 3 && it.connections > 2);
  await createOrThrow(env, own.path, own.object('d'));
  await source.until((it) => changesOf(it).length >= 4);
  expect(changesOf(source).map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
    'ADDED c',
    'ADDED a',
    'ADDED b',
    'ADDED d',
  ]);
  await source.close();
});

test('if the model is deleted, each object is DELETED, then a browser stops', async () => {
  const own = await register(env);
  await createOrThrow(env, own.path, own.object('a'));
  // If the server ended the stream just before, a browser would reconnect too late to see the end.
  const source = new FetchEventSource(`${env.url}${own.path}?watch=true&timeoutSeconds=60`, env.token);
  await source.until((it) => changesOf(it).length >= 1);
  await call(env, `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${own.definition.metadata.name}`, {
    method: 'DELETE',
  });
  await source.done;
  expect([source.failed, changesOf(source).map(({ type }) => type)]).toEqual([true, ['ADDED', 'DELETED']]);
});
