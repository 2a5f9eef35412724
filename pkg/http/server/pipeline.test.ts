import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import type { Handler, RequestContext } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { answerOk, deferred, heldFirst, readAll, startTestServer, type TestHttpServer } from './start-test-server.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

async function start(handler: Handler): Promise<TestHttpServer> {
  const server = await startTestServer(handler);
  started.push(server);
  return server;
}

const get = 'GET /livez HTTP/1.1\r\nHost: h\r\n';
const post = 'POST /x HTTP/1.1\r\nHost: h\r\n';

describe('pipelined requests', () => {
  test('are served one at a time, in order, and the connection is not read meanwhile', async () => {
    const { begun, finish, handler } = heldFirst();
    let served = 0;
    const { open } = await start(async (context) => {
      served += 1;
      await handler(context);
    });
    const socket = await open();
    const answers = readAll(socket);
    const head = `${post}Content-Length: 3\r\n\r\n`;
    socket.write(`${head}abc`.repeat(20) + head);
    const { request } = await begun.opened;
    const before = request.socket.bytesRead;
    // Each piece ends inside a body, where Node would continue to read.
    for (let piece = 0; piece < 20; piece += 1) {
      socket.write(`abc${head}`);
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    }
    expect([served, request.socket.bytesRead]).toEqual([1, before]);
    finish.open();
    socket.write(`abc${get}Connection: close\r\n\r\n`);
    expect((await answers).match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 201',
      ...Array.from({ length: 41 }, () => 'HTTP/1.1 200'),
    ]);
    expect(served).toBe(42);
  });

  test('end with their connection if more than 256 wait, which no memory budget counts', async () => {
    const served = async (count: number): Promise<number> => {
      const { begun, finish, handler } = heldFirst();
      const { open } = await start(handler);
      const socket = await open();
      socket.on('error', () => {});
      const answers = readAll(socket);
      socket.write(`${post}Content-Length: 0\r\n\r\n${`${get}\r\n`.repeat(count - 2)}${get}Connection: close\r\n\r\n`);
      await begun.opened;
      finish.open();
      return (await answers).match(/HTTP\/1\.1 20\d/g)?.length ?? 0;
    };
    expect(await served(1 + 256)).toBe(257);
    expect(await served(1 + 257)).toBe(0);
  });

  test('are all aborted when the connection breaks, and waiting ones are not started', async () => {
    const contexts: RequestContext[] = [];
    const { open, server } = await start(async (context) => {
      contexts.push(context);
      await once(context.response, 'close');
    });
    const socket = await open();
    socket.write(`${get}\r\n`.repeat(40));
    await pollUntil(() => contexts.length === 1);
    // A connection that is not read does not notice its end before its timeout.
    contexts[0]!.request.socket.destroy();
    await server.close({ drainTimeoutMs: 20_000 });
    expect(contexts.map(({ signal, response }) => [signal.aborted, response.destroyed])).toEqual([[true, true]]);
    socket.destroy();
  });

  test('are not served after one that is 429, which is the last answer of their connection', async () => {
    const answers = [200, 429];
    let served = 0;
    const { raw } = await start(async (context) => {
      await sendJson(context, answers[served]!, '{}');
      served += 1;
    });
    const text = await raw(`${get}\r\n`.repeat(4));
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 429']);
    expect(text.match(/connection: \S+/gi)).toEqual(['Connection: keep-alive', 'Connection: close']);
    expect(served).toBe(2);
  });

  test('without a following request a 429 leaves its connection open', async () => {
    const answers = [429, 200];
    const { open } = await start((context) => sendJson(context, answers.shift()!, '{}'));
    const socket = await open();
    const text = readAll(socket);
    socket.write(`${get}\r\n`);
    await once(socket, 'data');
    socket.write(`${get}Connection: close\r\n\r\n`);
    expect((await text).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 429', 'HTTP/1.1 200']);
  });

  test('do not read a body before its turn, however many answers come before it', async () => {
    const { begun, finish, handler } = heldFirst();
    let served = 0;
    const { open } = await start((context) => (++served > 15 ? handler(context) : answerOk(context)));
    const socket = await open();
    const answers = readAll(socket);
    socket.write(
      `${`${get}\r\n`.repeat(16)}${post}Connection: close\r\nContent-Length: 3000000\r\n\r\n${'x'.repeat(3_000_000)}`,
    );
    const { request } = await begun.opened;
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(request.socket.bytesRead).toBeLessThan(300_000);
    finish.open();
    expect((await answers).match(/HTTP\/1\.1 20\d/g)).toHaveLength(17);
  });

  test('are not started if they cannot be parsed', async () => {
    const { begun, finish, handler } = heldFirst();
    let served = 0;
    const { open } = await start((context) => {
      served += 1;
      return handler(context);
    });
    const socket = await open();
    const answers = readAll(socket);
    socket.write(`${post}Content-Length: 0\r\n\r\n${post}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`);
    await begun.opened;
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    finish.open();
    expect((await answers).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 400']);
    expect(served).toBe(1);
  });

  test('with a CONNECT among them may be disconnected', async () => {
    const { begun, handler } = heldFirst();
    const { open } = await start(handler);
    const socket = await open();
    socket.write(`${post}Content-Length: 0\r\n\r\nCONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n`);
    const { request, signal } = await begun.opened;
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    request.socket.destroy(new Error('reset'));
    await pollUntil(() => signal.aborted);
  });

  test('delay a drain until each has ended', async () => {
    const { begun, finish, handler } = heldFirst();
    const worksOn = deferred();
    const { open, server } = await start(async (context) => {
      await handler(context);
      if (context.request.method === 'GET') await worksOn.opened;
    });
    const socket = await open();
    const answers = readAll(socket);
    socket.write(`${post}Content-Length: 0\r\n\r\n${get}\r\n`);
    await begun.opened;
    let isClosed = false;
    const closed = server.close({ drainTimeoutMs: 20_000 }).then(() => (isClosed = true));
    // The drain has begun when no connection is accepted any more.
    const isRefused = async (): Promise<boolean> => {
      const late = await open().catch(() => undefined);
      late?.destroy();
      return late === undefined;
    };
    await pollUntil(isRefused);
    finish.open();
    expect((await answers).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200']);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    worksOn.open();
    await closed;
  });

  test('are not started when the time of a drain is over', async () => {
    let served = 0;
    const begun = deferred();
    const deaf = deferred();
    const { open, server } = await start(async ({ signal, request }) => {
      served += 1;
      if (request.method === 'POST') return deaf.opened;
      begun.open();
      await once(signal, 'abort');
      throw signal.reason;
    });
    const other = await open();
    other.write(`${post}Content-Length: 0\r\n\r\n`);
    await pollUntil(() => served === 1);
    const socket = await open();
    const answers = readAll(socket);
    socket.write(`${get}\r\n`.repeat(3));
    await begun.opened;
    await server.close({ drainTimeoutMs: 0 });
    expect((await answers).match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 503']);
    expect(served).toBe(2);
    deaf.open();
  });

  test('get their answers when a drain begins', async () => {
    const { begun, finish, handler } = heldFirst();
    const { open, server } = await start(handler);
    const socket = await open();
    const answers = readAll(socket);
    socket.write(`${post}Content-Length: 0\r\n\r\n${`${get}\r\n`.repeat(40)}`);
    await begun.opened;
    const closed = server.close({ drainTimeoutMs: 20_000 });
    finish.open();
    const text = await answers;
    expect(text.match(/HTTP\/1\.1 20\d/g)).toHaveLength(41);
    expect(text.match(/connection: close/gi)).toHaveLength(1);
    await closed;
  });
});
