import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newNotFound } from '#pkg/apimachinery/index';
import type { Handler } from '../request/request-context.ts';
import { send, sendJson } from './respond.ts';
import { sendStream, writeChunk } from './send-stream.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';

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

const large = JSON.stringify('é'.repeat(100_000));
const gzipped = { 'accept-encoding': 'br, gzip, deflate' };

async function* pieces(count: number, size: number): AsyncGenerator<string> {
  for (let i = 0; i < count; i += 1) yield String(i % 10).repeat(size);
}

async function* failing(size: number): AsyncGenerator<string> {
  yield 'x'.repeat(size);
  throw newNotFound({ group: 'g', resource: 'posts' }, 'x');
}

describe('send', () => {
  test('a small body is sent uncompressed, with length, warnings and headers', async () => {
    const server = await start(async (context) => {
      context.warnings.push('use "v2"', 'line\nbreak');
      await sendJson(context, 201, '{"a":"é"}', { ETag: '"7"', Vary: 'Accept' });
    });
    const { status, headers, body } = await server.send({ headers: gzipped });
    expect([status, body.toString()]).toEqual([201, '{"a":"é"}']);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '10',
      etag: '"7"',
      vary: 'Accept',
      warning: '299 - "use \\"v2\\"", 299 - "line break"',
    });
  });

  test.each([
    ['compressed if accepted', gzipped, 'gzip'],
    ['uncompressed if not', {}, undefined],
  ])('a large body is %s', async (_reason, headers, encoding) => {
    const server = await start((context) => sendJson(context, 200, Buffer.from(large)));
    const answer = await server.send({ headers });
    expect(answer.headers['content-encoding']).toBe(encoding);
    expect(answer.headers.vary).toBe('Accept-Encoding');
    expect(answer.headers['content-length']).toBe(String(answer.body.length));
    expect((encoding === undefined ? answer.body : gunzipSync(answer.body)).toString()).toBe(large);
  });

  test('HEAD, 204 and 304 have no body', async () => {
    const server = await start((context) =>
      context.info.path === '/'
        ? sendJson(context, 200, '{"ok":true}')
        : send(context, Number(context.info.path.slice(1)), '', ''),
    );
    const head = await server.send({ method: 'HEAD', path: '/' });
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([200, 0, '11']);
    const missing = await server.send({ method: 'HEAD', path: '/304' });
    expect([missing.status, missing.headers['content-length'], missing.headers['content-type']]).toEqual([
      304,
      undefined,
      undefined,
    ]);
    expect((await server.send({ path: '/204' })).status).toBe(204);
  });

  test('a second answer is ignored', async () => {
    const server = await start(async (context) => {
      await sendJson(context, 200, '1');
      await sendJson(context, 500, '2');
    });
    expect((await server.send({})).body.toString()).toBe('1');
  });
});

describe('sendStream', () => {
  test.each([
    ['a short one with its length', 3, {}, '30'],
    ['an empty one', 0, {}, '0'],
    ['a long one, in chunks', 100_000, {}, undefined],
    ['a long one, compressed', 100_000, gzipped, undefined],
  ])('%s', async (_reason, count, headers, length) => {
    const server = await start((context) => sendStream(context, 200, pieces(count, 10)));
    const answer = await server.send({ headers });
    expect(answer.headers['content-length']).toBe(length);
    const body = answer.headers['content-encoding'] === 'gzip' ? gunzipSync(answer.body) : answer.body;
    expect(answer.headers['content-encoding'] === 'gzip').toBe(headers === gzipped);
    let whole = '';
    for await (const piece of pieces(count, 10)) whole += piece;
    expect(body.toString() === whole).toBe(true);
  });

  test('a failure before the first bytes is answered with its own status', async () => {
    const server = await start((context) => sendStream(context, 200, failing(10)));
    expect((await server.send({})).status).toBe(404);
  });

  test.each([[{}], [gzipped]])('a failure within the body truncates it detectably: %j', async (headers) => {
    const server = await start((context) =>
      sendStream(
        context,
        200,
        (async function* () {
          yield* pieces(100, 10_000);
          yield* failing(10);
        })(),
      ),
    );
    await expect(server.send({ headers })).rejects.toThrow(/aborted|socket hang up|ECONNRESET/);
  });

  test.each([[{}], [gzipped]])('a stalled reader is disconnected, and the source is closed: %j', async (headers) => {
    let produced = 0;
    let left = false;
    async function* source(): AsyncGenerator<Buffer> {
      try {
        // Random bytes do not compress: the compressed stream fills the client's buffers as well.
        for (; produced < 2000; produced += 1) yield randomBytes(128 * 1024);
      } finally {
        left = true;
      }
    }
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const server = await start((context) => {
      begin();
      return sendStream(context, 200, source(), { stallTimeoutMs: 100 });
    });
    const socket = await server.open();
    socket.pause();
    socket.write(`GET / HTTP/1.1\r\nHost: h\r\n${headers === gzipped ? 'Accept-Encoding: gzip\r\n' : ''}\r\n`);
    socket.on('error', () => undefined);
    await begun;
    await server.server.close({ drainTimeoutMs: 10_000 });
    expect(left).toBe(true);
    expect(produced).toBeLessThan(1000);
    socket.destroy();
  });

  test('the source is closed when the client disconnects', async () => {
    let leave!: () => void;
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const server = await start((context) =>
      sendStream(
        context,
        200,
        (async function* () {
          try {
            for (;;) {
              yield 'x'.repeat(1000);
              context.signal.throwIfAborted();
            }
          } finally {
            leave();
          }
        })(),
      ),
    );
    const socket = await server.open();
    socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
    await left;
  });
});

test('writeChunk throws once the request is over', async () => {
  let failure: unknown;
  const server = await start(async (context) => {
    context.abort(new Error('over'));
    try {
      await writeChunk(context, 'x');
    } catch (error) {
      failure = error;
    }
    await sendJson(context, 200, '{}');
  });
  await server.send({});
  expect(failure).toMatchObject({ message: 'over' });
});
