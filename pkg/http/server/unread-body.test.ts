import { once } from 'node:events';
import { setImmediate as eventLoopTurn } from 'node:timers/promises';
import { afterEach, expect, test } from '@jest/globals';
import { newTooManyRequests, runInTurns, type SlicedWork } from '#pkg/apimachinery/index';
import type { Handler } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { readAll, startTestServer, type TestHttpServer } from './start-test-server.ts';

const bodyBytes = 12 * 1024 * 1024;
const post = `POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: ${bodyBytes}\r\n\r\n`;
const last = 'GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n';
let started: TestHttpServer | undefined;

afterEach(() => started?.server.close({ drainTimeoutMs: 0 }));

/** Refuses a body once its first bytes have arrived. */
const refuse: Handler = async (context) => {
  if (context.request.method === 'GET') return sendJson(context, 200, '{"read":"on"}');
  await once(context.request, 'data');
  context.request.pause();
  throw newTooManyRequests('no room');
};

/** Blocks the event loop for most of `ms`. */
function* longWork(ms: number): SlicedWork<void> {
  const end = performance.now() + ms;
  while (performance.now() < end) {
    const until = performance.now() + 5;
    while (performance.now() < until);
    yield;
  }
}

test('the rest of a refused body is read however long the event loop is busy, and the connection continues', async () => {
  started = await startTestServer(refuse, { limits: { lingerMs: 1000 } });
  const socket = await started.open();
  const work = runInTurns(longWork(2500));
  socket.write(post);
  socket.write(Buffer.alloc(bodyBytes));
  socket.write(last);
  const answers = await readAll(socket);
  await work;
  expect(answers).toMatch(/^HTTP\/1.1 429 [^]*HTTP\/1.1 200 [^]*\{"read":"on"\}$/);
});

test('bytes that arrived while the event loop was blocked count as sent', async () => {
  started = await startTestServer(refuse, { limits: { lingerMs: 300 } });
  const socket = await started.open();
  const answers = readAll(socket);
  socket.once('data', () => {
    // The system buffers a part of it at once.
    socket.write(Buffer.alloc(bodyBytes - 1));
    socket.write(last);
    for (const end = performance.now() + 900; performance.now() < end;);
  });
  socket.write(`${post}x`);
  expect(await answers).toMatch(/^HTTP\/1.1 429 [^]*HTTP\/1.1 200 [^]*\{"read":"on"\}$/);
});

test('refused bodies leave nothing behind on their connection', async () => {
  const listeners: number[] = [];
  const counting: Handler = (context) => {
    listeners.push(context.request.socket.listenerCount('close'));
    return refuse(context);
  };
  started = await startTestServer(counting, { limits: { lingerMs: 600_000 } });
  const socket = await started.open();
  const answers = readAll(socket);
  for (let i = 0; i < 3; i += 1) {
    socket.write(post);
    socket.write(Buffer.alloc(bodyBytes));
  }
  // The rest of this one never comes.
  socket.write(`${post}x`);
  while (listeners.length < 4) await eventLoopTurn();
  socket.destroy();
  await answers;
  await started.server.close({ drainTimeoutMs: 0 });
  // At most the listeners of the previous body, which ends as the next request arrives.
  expect(Math.max(...listeners) - listeners[0]!).toBeLessThanOrEqual(1);
});
