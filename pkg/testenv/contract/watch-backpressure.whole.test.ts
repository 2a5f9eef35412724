import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { defaultHandlerOptions } from '#pkg/apiserver/index';
import { startTestEnv, type TestEnv } from '../start-test-env.ts';
import { call, retryUntilPasses } from './api-call.ts';
import { createOrThrow, register, type Registered } from './models-definition.ts';
import { RecordedWatch } from './recorded-watch.ts';

let env: TestEnv;
let posts: Registered;

beforeAll(async () => {
  env = await startTestEnv({
    replicas: 2,
    handlers: {
      watch: { ...defaultHandlerOptions.watch, bufferLimit: 1024 * 1024, stallMs, heartbeatMs: 200, closeGraceMs: 500 },
    },
  });
  posts = await register(env);
});

afterAll(() => env?.stop());

/** A client that sends a request, reads the head of the response and then nothing more. */
async function stalledClient(
  path: string,
  server = 0,
): Promise<{ socket: Socket; closed: Promise<void>; head: string }> {
  const socket = connect(Number(new URL(env.servers[server]!.url).port), '127.0.0.1');
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.once('error', () => resolve());
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${env.token}\r\n\r\n`);
  const head = await new Promise<string>((resolve) => {
    socket.once('data', (data: Buffer) => resolve(data.toString()));
  });
  socket.pause();
  return { socket, closed, head };
}

/** Resolves once the server has closed the connection, without reading: then our writes fail. */
async function cutOff({ socket, closed }: { socket: Socket; closed: Promise<void> }): Promise<void> {
  const probing = setInterval(() => socket.write('\r\n'), 50);
  await closed;
  clearInterval(probing);
}

/** In total more than the kernel buffers for a reader that does not read. */
const big = 'x'.repeat(200_000);
const many = 90;
const stallMs = 1_000;

/** The duration of each write. Milliseconds. */
async function timed(names: readonly string[], spec: Record<string, unknown>): Promise<number[]> {
  const took: number[] = [];
  for (const name of names) {
    const before = performance.now();
    await createOrThrow(env, posts.path, posts.object(name, spec));
    took.push(performance.now() - before);
  }
  return took;
}

/**
 * The median: one write may hit a slow moment of the machine, but if writes wait for a stalled reader, all of them do.
 */
function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

test('a watcher that stops reading is disconnected and resumes; other watchers and writers are not affected', async () => {
  const start = (await call(env, posts.path)).body.metadata.resourceVersion;
  const stalled = await stalledClient(`${posts.path}?watch=true&resourceVersion=${start}`);
  expect(stalled.head).toMatch(/^HTTP\/1\.1 200 /);
  const healthy = await Promise.all(
    [0, 1].map((server) => RecordedWatch.open(env, `${posts.path}?resourceVersion=${start}`, { server })),
  );
  const took = await timed(
    Array.from({ length: many }, (_, i) => `big-${i}`),
    { big },
  );
  await Promise.all(healthy.map((stream) => stream.untilCount(many)));
  for (const stream of healthy) {
    expect(stream.story).toEqual(Array.from({ length: many }, (_, i) => `ADDED big-${i}`));
    stream.close();
  }
  expect(middle(took)).toBeLessThan(stallMs);
  await cutOff(stalled);
  const resumed = await RecordedWatch.open(env, `${posts.path}?resourceVersion=${start}`);
  await resumed.untilCount(many);
  expect(resumed.story).toEqual(healthy[0]!.story);
  resumed.close();
});

test('a reader that keeps reading gets a large initial list completely', async () => {
  const stream = await RecordedWatch.open(env, posts.path, { server: 1 });
  await stream.untilCount(many);
  expect([stream.ended, new Set(stream.story).size]).toEqual([false, many]);
  stream.close();
});

test('a reader that does not read a large initial list is disconnected too, and the server keeps answering', async () => {
  const stalled = await Promise.all(
    Array.from({ length: 8 }, (_, i) => stalledClient(`${posts.path}?watch=true&resourceVersion=0`, i % 2)),
  );
  expect(
    middle(
      await timed(
        Array.from({ length: 5 }, (_, i) => `meanwhile-${i}`),
        {},
      ),
    ),
  ).toBeLessThan(stallMs);
  await Promise.all(stalled.map(cutOff));
});

test('a client that disconnects leaves nothing behind', async () => {
  const streams = await Promise.all(
    Array.from({ length: 50 }, (_, i) => RecordedWatch.open(env, `${posts.path}?labelSelector=none-${i}`)),
  );
  for (const stream of streams) stream.close();
  await retryUntilPasses(async () => {
    const answer = await call(env, posts.path, { method: 'POST', body: posts.object('after-leaving') });
    expect([201, 409]).toContain(answer.status);
  });
});
