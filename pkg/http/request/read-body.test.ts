import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import type { HttpServerLimits } from '../server/http-server.ts';
import { readBody } from './read-body.ts';
import type { Handler, RequestContext } from './request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { deferred, readAll, startTestServer, type TestHttpServer } from '../server/start-test-server.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

async function start(handler: Handler, limits: Partial<HttpServerLimits> = {}): Promise<TestHttpServer> {
  const server = await startTestServer(handler, { limits });
  started.push(server);
  return server;
}

const echoWithin =
  (timeoutMs: number): Handler =>
  async (context) => {
    const body = await readBody(context, { maxBytes: 10, timeoutMs });
    await sendJson(context, 200, body);
  };
const echo = echoWithin(20_000);
const post = 'POST /x HTTP/1.1\r\nHost: h\r\n';

test.each([
  ['a body', 200, `${post}Content-Length: 3\r\nConnection: close\r\n\r\nabc`],
  ['an empty body', 200, `${post}Content-Length: 0\r\nConnection: close\r\n\r\n`],
  ['no body', 200, `${post}Connection: close\r\n\r\n`],
  ['chunks', 200, `${post}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n`],
  ['a length over the limit', 413, `${post}Content-Length: 11\r\n\r\n`],
  ['chunks over the limit', 413, `${post}Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n`],
  ['a body that does not arrive', 408, `${post}Content-Length: 3\r\n\r\na`],
  ['a compressed body', 415, `${post}Content-Length: 3\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\nabc`],
  ['a malformed chunk', 400, `${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
  ['long chunk extensions', 413, `${post}Transfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(20_000)}\r\n`],
  ['a body that is refused before it is sent', 413, `${post}Expect: 100-continue\r\nContent-Length: 11\r\n\r\n`],
])('%s is %i', async (_reason, code, bytes) => {
  const { raw } = await start(code === 408 ? echoWithin(100) : echo, { lingerMs: 20 });
  expect(await raw(bytes)).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
});

test('sends 100 Continue to a client that waits for it', async () => {
  const { open } = await start(echo);
  const socket = await open();
  socket.write(`${post}Expect: 100-continue\r\nConnection: close\r\nContent-Length: 3\r\n\r\n`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  socket.write('abc');
  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 [^]*abc$/);
});

test('answers a client that sends far too much and reads only afterwards', async () => {
  const { send } = await start(echo);
  const answer = await send({ method: 'POST', path: '/x', body: Buffer.alloc(8 * 1024 * 1024) });
  expect(answer.status).toBe(413);
});

test('ends without an error log when the client disconnects within the body', async () => {
  const begun = deferred<RequestContext>();
  const ended = deferred<unknown>();
  const { open, logs } = await start(async (context) => {
    begun.open(context);
    await echo(context).catch((error: unknown) => {
      ended.open(error);
      throw error;
    });
  });
  const socket = await open();
  socket.write(`${post}Content-Length: 3\r\n\r\na`);
  await begun.opened;
  socket.destroy();
  expect(await ended.opened).toMatchObject({ name: 'ClientGoneError' });
  await started[0]!.server.close({ drainTimeoutMs: 1000 });
  expect(logs.filter((line) => Number(line['level']) > 20)).toEqual([]);
});

test('survives a client that disconnects just as its body ends', async () => {
  const gone = deferred();
  const { port } = await start(async (context) => {
    const { request, info } = context;
    if (info.path === '/livez') return sendJson(context, 200, '{}');
    const listener = (): void => undefined;
    request.on('error', listener).resume();
    // Between Node's check for listeners and its call of them.
    request.once('aborted', () => process.nextTick(() => process.nextTick(() => request.off('error', listener))));
    await once(request, 'close').catch(() => undefined);
    gone.open();
    throw new Error('nobody to answer');
  });
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345');
  setTimeout(() => socket.destroy(), 50);
  await gone.opened;
  expect((await fetch(`http://127.0.0.1:${port}/livez`)).status).toBe(200);
});

test('an unread body does not spoil the next request of its connection', async () => {
  const { raw } = await start((context) => sendJson(context, 200, '{}'));
  const answers = await raw(
    `${post}Content-Length: 3\r\n\r\nabcGET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
  );
  expect(answers.match(/HTTP\/1.1 200/g)).toHaveLength(2);
});
