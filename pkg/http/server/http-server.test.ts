import { once } from 'node:events';
import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { WebSocket } from 'ws';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { HttpServer, type HttpServerLimits } from './http-server.ts';
import { readBody } from '../request/read-body.ts';
import type { Handler, RequestContext } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { answerOk, deferred, heldFirst, readAll, startTestServer, type TestHttpServer } from './start-test-server.ts';
import { ServerCertificate } from '../tls/server-certificate.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

async function start(
  handler: Handler = answerOk,
  limits: Partial<HttpServerLimits> = {},
  isProbe: (path: string) => boolean = () => false,
): Promise<TestHttpServer> {
  const server = await startTestServer(handler, { limits, isProbe });
  started.push(server);
  return server;
}

/** A key and certificate for these tests only, valid for 127.0.0.1. */
const testKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRPk+pzf3N/ZFm0p2
/sucTGOAyGxKsMtmzmyM4h7TzUWhRANCAARjUxLolIqJf02PIIdFPvu4nocPhkBn
Id0IGZA/JEBUFiyD87FgC6sl85CuFt7rkZPimPdjbkvXoHg8Gi78qUgv
-----END PRIVATE KEY-----
`;
const testCertificate = `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUZHWmE2CE20g85tdApbZspxI9ZrkwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMDA4MTE1MFoYDzIxMjYxMDI3
MDgxMTUwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARjUxLolIqJf02PIIdFPvu4nocPhkBnId0IGZA/JEBUFiyD87FgC6sl
85CuFt7rkZPimPdjbkvXoHg8Gi78qUgvo28wbTAdBgNVHQ4EFgQUcuFV2eWTtPzy
BFqaQyPU2VGs4pYwHwYDVR0jBBgwFoAUcuFV2eWTtPzyBFqaQyPU2VGs4pYwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhALAGVnqXo+GJx4Kr3U2xhNQxI37wWngd3h2ZF0z/BBTwAiEA
vGGiF2YgWiIx5vrpydUAbRf29GjAzhAP2dk4GNqI5GU=
-----END CERTIFICATE-----
`;

const get = 'GET /livez HTTP/1.1\r\nHost: h\r\n';
const post = 'POST /x HTTP/1.1\r\nHost: h\r\n';

describe('a malformed request gets a Status and a closed connection', () => {
  test.each([
    ['no HTTP', 400, 'nonsense\r\n\r\n'],
    ['no Host', 400, 'GET /livez HTTP/1.1\r\n\r\n'],
    ['two Host', 400, `${get}Host: other\r\n\r\n`],
    ['two Authorization', 400, `${get}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`],
    ['two equal Authorization headers', 400, `${get}authorization: Bearer a\r\nAUTHORIZATION: Bearer a\r\n\r\n`],
    ['two Content-Length', 400, `${post}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ['two lengths of one body', 400, `${post}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['a coding before chunked', 400, `${post}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['chunked twice', 400, `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunked not last', 400, `${post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a negative length', 400, `${post}Content-Length: -1\r\n\r\n`],
    ['a folded header', 400, `${get}X: a\r\n b: c\r\n\r\n`],
    ['NUL in a header', 400, `${get}X: a\u0000b\r\n\r\n`],
    ['a space before the colon', 400, `${get}X : a\r\n\r\n`],
    ['an upgrade', 400, `${get}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`],
    ['a path that is not plain', 400, 'GET /a%2Fb HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['absolute form with a user', 400, 'GET http://a@h/livez HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a proxy request', 400, 'CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['an unknown Expect', 417, `${post}Expect: magic\r\nContent-Length: 1\r\n\r\n`],
    ['a long URL', 414, `GET /${'a'.repeat(70_000)} HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['a long query', 414, `GET /?${'a'.repeat(70_000)} HTTP/1.1\r\nHost: h\r\n\r\n`],
    ['a long header', 431, `${get}X: ${'a'.repeat(33_000)}\r\n\r\n`],
    ['many headers', 431, `${get}${'X: 1\r\n'.repeat(300)}\r\n`],
    [
      'more headers than Node keeps',
      431,
      `${get}${'X: 1\r\n'.repeat(3000)}Authorization: a\r\nAuthorization: b\r\n\r\n`,
    ],
    ['a header larger than the parser accepts', 431, `${get}X: ${'a'.repeat(200_000)}\r\n\r\n`],
  ])('%s is %i', async (_reason, code, bytes) => {
    const { raw } = await start();
    const answer = await raw(bytes);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${code} `));
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    expect(answer).toMatch(/\r\nX-Request-Id: [0-9a-f-]{36}\r\n/);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
      kind: 'Status',
      status: 'Failure',
      code,
    });
  });
});

test.each([
  ['abc-1_2.Z', true, 'sane'],
  ['a'.repeat(64), true, 'as long as allowed'],
  ['a'.repeat(65), false, 'too long'],
  ['a b', false, 'a blank'],
  ['<x>', false, 'markup'],
])('the request id %j is accepted: %s (%s)', async (id, taken) => {
  const { send } = await start();
  const { headers } = await send({ path: '/livez', headers: { 'X-Request-Id': id } });
  expect(headers['x-request-id'] === id).toBe(taken);
  expect(headers['audit-id']).toBe(headers['x-request-id']);
  expect(headers['cache-control']).toBe('no-cache, private');
});

test('a target in absolute form is served as its path', async () => {
  const { raw } = await start((context) =>
    sendJson(context, 200, JSON.stringify([context.info.path, context.query.get('a'), context.request.url])),
  );
  const answer = await raw('GET http://other:1/apis?a=b HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  expect(answer).toMatch(/\["\/apis","b","\/apis\?a=b"\]$/);
});

describe('unparsable data behind a complete request does not affect its answer, and ends the connection', () => {
  test.each([
    ['garbage', 'nonsense\r\n\r\n', 1],
    ['a head that is too large', `GET / HTTP/1.1\r\nX: ${'a'.repeat(200_000)}\r\n\r\n`, 1],
    ['garbage after a second request', `${get}\r\nnonsense\r\n\r\n`, 2],
  ])('%s', async (_reason, rest, answers) => {
    const parsed = deferred();
    const { raw } = await start(async (context) => {
      // By then the parser has read all bytes.
      setImmediate(parsed.open);
      await parsed.opened;
      await answerOk(context);
    });
    const answer = await raw(`${get}\r\n${rest}`);
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(Array.from({ length: answers }, () => 'HTTP/1.1 200'));
  });

  test('also if the answer has begun', async () => {
    const begun = deferred<RequestContext>();
    const { open } = await start(async (context) => {
      context.response.writeHead(200, { 'Content-Length': 2 }).write('a');
      begun.open(context);
      await new Promise((resolve) => {
        context.response.once('close', resolve);
      });
    });
    const socket = await open();
    socket.write(`${get}\r\n`);
    const { request, response } = await begun.opened;
    const before = request.socket.bytesRead;
    socket.write('nonsense\r\n\r\n');
    await pollUntil(() => request.socket.bytesRead > before);
    response.end('b');
    expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 [^]*\r\n\r\nab$/);
  });

  test('also if it is the body of another request, or a proxy request', async () => {
    for (const rest of [
      `${post}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`,
      'CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n',
    ]) {
      const { begun, finish, handler } = heldFirst();
      const { open, server } = await start(handler);
      const socket = await open();
      const answers = readAll(socket);
      socket.write(`${post}Content-Length: 0\r\n\r\n${get}\r\n${rest}`);
      const { request } = await begun.opened;
      // Node reacts to these bytes as it reads them.
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      expect(request.socket.bytesWritten).toBe(0);
      finish.open();
      expect((await answers).match(/HTTP\/1\.1 \d+/g)?.slice(0, 2)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200']);
      await server.close({ drainTimeoutMs: 1000 });
    }
  });

  test('but garbage within its body is a 400', async () => {
    const { raw } = await start(async (context) => sendJson(context, 200, await readBody(context)));
    expect(await raw(`${post}Transfer-Encoding: chunked\r\n\r\nnonsense\r\n`)).toMatch(/^HTTP\/1.1 400 /);
  });
});

test('an answer without a parsed request has its id in the log', async () => {
  for (const bytes of ['nonsense\r\n\r\n', 'CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n']) {
    const { raw, logs } = await start();
    const [, requestId] = /\r\nX-Request-Id: (.*)\r\n/.exec(await raw(bytes))!;
    expect(logs).toContainEqual(expect.objectContaining({ level: 20, requestId, status: 400 }));
  }
});

test('an upgrade to h2c, which some clients offer with every request, is ignored', async () => {
  const { raw } = await start();
  expect(
    await raw(`${get}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n`),
  ).toMatch(/^HTTP\/1.1 200 /);
});

test('headers that do not arrive are 408', async () => {
  const { raw } = await start(answerOk, { headersTimeoutMs: 50 });
  expect(await raw('GET /livez HTTP/1.1\r\nHost: h\r\n')).toMatch(/^HTTP\/1.1 408 [^]*"code":408/);
});

describe('connections beyond the limit', () => {
  const isProbe = (path: string): boolean => path === '/livez';
  const okButHeld: Handler = async (context) => {
    if (context.info.path !== '/held') return answerOk(context);
    context.response.flushHeaders();
    await once(context.signal, 'abort');
  };
  /** A connection with a running request. */
  const held = async (open: TestHttpServer['open']): Promise<Socket> => {
    const socket = await open();
    socket.write('GET /held HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(socket, 'data');
    return socket;
  };

  test('replace the oldest idle one of the client with most connections', async () => {
    const { open, raw, server } = await start(okButHeld, { connections: 4 }, isProbe);
    const busy = await held(open);
    const idle = [await open(), await open(), await open()];
    const closed = readAll(idle[0]!);
    expect(await raw('GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /);
    expect(await closed).toBe('');
    expect(server.connections).toMatchObject({ refused: { total: 0, address: 0, idle: 1 } });
    expect([busy.destroyed, idle[1]!.destroyed, idle[2]!.destroyed]).toEqual([false, false, false]);
    for (const socket of [busy, ...idle]) socket.destroy();
  });

  test('replace one whose answers are not read, but not one with a request in progress', async () => {
    const answered = deferred();
    const { open, raw, server } = await start(
      async (context) => {
        if (context.info.path !== '/large') return okButHeld(context);
        await sendJson(context, 200, Buffer.alloc(16 * 1024 * 1024));
        answered.open();
      },
      { connections: 2 },
      isProbe,
    );
    const ask = (path: string): Promise<string> => raw(`GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
    const busy = await held(open);
    const unread = await open();
    // With a second request that waits behind it.
    unread
      .pause()
      .on('error', () => undefined)
      .write(`GET /large HTTP/1.1\r\nHost: h\r\n\r\n${get}\r\n`);
    await answered.opened;
    expect(await ask('/x')).toMatch(/^HTTP\/1.1 429 /);
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 5000);
    try {
      expect(await ask('/x')).toMatch(/^HTTP\/1.1 200 /);
    } finally {
      clock.mockRestore();
    }
    expect(server.connections).toMatchObject({ refused: { total: 1, address: 0, idle: 1 } });
    expect(busy.destroyed).toBe(false);
    for (const socket of [busy, unread]) socket.destroy();
  });

  test('may send one probe, and get 429 for anything else', async () => {
    const { open, raw, server } = await start(okButHeld, { connections: 1 }, isProbe);
    const first = await held(open);
    expect(await raw(`${get}\r\n`)).toMatch(/^HTTP\/1.1 200 [^]*\r\nConnection: close\r\n/i);
    const refused = await raw('GET /x HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(refused).toMatch(/^HTTP\/1.1 429 [^]*too many connections/);
    expect(refused).toMatch(/\r\nRetry-After: 1\r\n/i);
    expect(refused).toMatch(/\r\nConnection: close\r\n/i);
    expect(server.connections.refused).toEqual({ total: 2, address: 0, idle: 0 });
    first.destroy();
  });

  test('cannot block probes by being silent', async () => {
    const { open, raw } = await start(okButHeld, { connections: 1 }, isProbe);
    const first = await held(open);
    const silent: Promise<string>[] = [];
    for (let i = 0; i < 200; i += 1) silent.push(readAll(await open().catch(() => first)));
    for (let i = 0; i < 3; i += 1) expect(await raw(`${get}\r\n`)).toMatch(/^HTTP\/1.1 200 /);
    first.destroy();
  });

  test('of one address are closed if its number is limited', async () => {
    const { open, server } = await start(answerOk, { connectionsPerAddress: 1 });
    const first = await open();
    expect(await readAll(await open())).toBe('');
    expect(server.connections).toEqual({ open: 1, refused: { total: 0, address: 1, idle: 0 }, failedHandshakes: 0 });
    first.destroy();
  });
});

test('a connection has a maximum number of requests', async () => {
  const { raw } = await start(answerOk, { requestsPerConnection: 2 });
  const answers = await raw(`${get}\r\n`.repeat(2));
  expect(answers.match(/HTTP\/1.1 200 /g)).toHaveLength(2);
  expect(answers.match(/\r\nConnection: close\r\n/gi)).toHaveLength(1);
});

test('an idle connection is closed after its time, and so is one whose handler did not answer', async () => {
  const { open, raw, logs } = await start(
    async (context) => (context.info.path === '/none' ? undefined : answerOk(context)),
    { keepAliveTimeoutMs: 20 },
  );
  const socket = await open();
  socket.write(`${get}\r\n`);
  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 /);
  expect(await raw('GET /none HTTP/1.1\r\nHost: h\r\n\r\n')).toBe('');
  expect(logs).toContainEqual(expect.objectContaining({ level: 50, msg: 'request failed outside withStatus' }));
});

test('a client that does not read a whole answer is disconnected', async () => {
  const begun = deferred<RequestContext>();
  const { open, server } = await start(
    async (context) => {
      begun.open(context);
      await sendJson(context, 200, Buffer.alloc(64 * 1024 * 1024));
    },
    { stallTimeoutMs: 50 },
  );
  const socket = await open();
  socket.pause();
  socket.on('error', () => undefined).write(`${get}\r\n`);
  const { response } = await begun.opened;
  const before = performance.now();
  await server.close({ drainTimeoutMs: 20_000 });
  expect(response.closed).toBe(true);
  expect(performance.now() - before).toBeLessThan(15_000);
  socket.destroy();
});

test('the signal aborts when the client disconnects, without an error log', async () => {
  const begun = deferred<RequestContext>();
  const { open, logs } = await start(async (context) => {
    begun.open(context);
    await once(context.signal, 'abort');
    context.signal.throwIfAborted();
  });
  const socket = await open();
  socket.write(`${get}\r\n`);
  const { signal } = await begun.opened;
  socket.destroy();
  if (!signal.aborted) await once(signal, 'abort');
  expect(signal.reason).toMatchObject({ name: 'ClientGoneError' });
  await started[0]!.server.close({ drainTimeoutMs: 1000 });
  expect(logs.filter((line) => Number(line['level']) > 20)).toEqual([]);
});

describe('close', () => {
  test('lets running requests finish, ends watches, and closes idle and silent connections', async () => {
    const begun = deferred<RequestContext>();
    const finish = deferred();
    const { server, open, send } = await start(async (context) => {
      if (context.info.path === '/watch') {
        context.response.writeHead(200).write('begin\n');
        await once(context.draining, 'abort');
        context.response.end('end\n');
      } else if (context.info.path === '/slow') {
        begun.open(context);
        await finish.opened;
        await answerOk(context);
      } else {
        await answerOk(context);
      }
    });
    const silent = readAll(await open());
    const idle = await open();
    idle.write(`${get}\r\n`);
    await once(idle, 'data');
    const idleClosed = readAll(idle);
    const slow = await open();
    slow.write('GET /slow HTTP/1.1\r\nHost: h\r\n\r\n');
    const slowAnswer = readAll(slow);
    const watch = await open();
    watch.write('GET /watch HTTP/1.1\r\nHost: h\r\n\r\n');
    await once(watch, 'data');
    const watchRest = readAll(watch);
    await begun.opened;

    const before = performance.now();
    const closed = server.close({ drainTimeoutMs: 20_000 });
    expect(await watchRest).toContain('end\n');
    await idleClosed;
    await silent;
    await expect(send({ path: '/livez' })).rejects.toThrow('ECONNREFUSED');
    expect((await begun.opened).signal.aborted).toBe(false);
    finish.open();
    expect(await slowAnswer).toMatch(/^HTTP\/1.1 200 [^]*connection: close\r\n/i);
    await closed;
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  test('under load breaks no connection of a client that obeys "Connection: close"', async () => {
    const { server, port } = await start(async (context) => {
      await new Promise(setImmediate);
      await sendJson(context, 200, 'x'.repeat(1000));
    });
    let answers = 0;
    const enough = deferred();
    /** Resolves with how the client's connection ended. */
    const client = async (): Promise<string> => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      try {
        for (;;) {
          const connection = await answerOf(port, agent);
          answers += 1;
          if (answers === 500) enough.open();
          if (connection === 'close') return 'told to close';
        }
      } catch (error) {
        return String(error);
      } finally {
        agent.destroy();
      }
    };
    const clients = Array.from({ length: 50 }, client);
    await enough.opened;
    await server.close({ drainTimeoutMs: 20_000 });
    expect(new Set(await Promise.all(clients))).toEqual(new Set(['told to close']));
  });

  test('aborts requests that do not finish in time, and sends their last answer', async () => {
    const begun = deferred<RequestContext>();
    const { server, raw } = await start(async (context) => {
      begun.open(context);
      await once(context.signal, 'abort');
      context.signal.throwIfAborted();
    });
    const answer = raw(`${get}\r\n`);
    const { signal } = await begun.opened;
    await server.close({ drainTimeoutMs: 10 });
    expect(signal.reason).toMatchObject({ code: 503 });
    expect(await answer).toMatch(/^HTTP\/1.1 503 .*the server is shutting down/s);
  });
});

test('serves https, and survives a client without TLS', async () => {
  const log = pino({ level: 'silent' });
  const server = new HttpServer({ handler: answerOk, log });
  const { port } = await server.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: new ServerCertificate({ key: testKey, cert: testCertificate }),
  });
  const plain = connect(port, '127.0.0.1');
  plain.write(`${get}\r\n`);
  await readAll(plain);
  const secure = connectTls({ port, host: '127.0.0.1', ca: testCertificate });
  secure.write(`${get}\r\n`);
  const [answer] = (await once(secure, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1.1 200 /);
  secure.destroy();
  await server.close({ drainTimeoutMs: 1000 });
});

describe.each(['http', 'https'])('over %s, while the answer to the request before is on its way', (scheme) => {
  const large = Buffer.alloc(16 * 1024 * 1024, 'a');
  const body = Buffer.alloc(200_000, 'b');
  const head = `${post}Content-Length: ${body.length}\r\n\r\n`;
  const last = `${post}Connection: close\r\nContent-Length: 1\r\n\r\nc`;
  let received: number[];
  let server: HttpServer;
  let client: Socket;

  beforeEach(async () => {
    received = [];
    const answered = deferred();
    server = new HttpServer({
      handler: async (context) => {
        if (context.request.method === 'GET') {
          context.response.end(large);
          answered.open();
          return;
        }
        received.push((await readBody(context)).length);
        context.response.end('done');
      },
      log: pino({ level: 'silent' }),
    });
    const at = { host: '127.0.0.1', port: 0 };
    const certificate = new ServerCertificate({ key: testKey, cert: testCertificate });
    const { port } = await server.listen(scheme === 'http' ? at : { ...at, certificate });
    client = scheme === 'http' ? connect({ ...at, port }) : connectTls({ ...at, port, ca: testCertificate });
    client.write(`${get}\r\n`);
    await answered.opened;
  });

  afterEach(async () => {
    client.destroy();
    await server.close({ drainTimeoutMs: 1000 });
  });

  const expectAnswers = (text: string): void => {
    expect(text.length).toBeGreaterThan(large.length);
    expect(text.match(/done$|done(?=HTTP)/g)).toHaveLength(2);
    expect(received).toEqual([body.length, 1]);
  };

  test('a body that arrives in many records is taken, and the next request', async () => {
    client.write(head);
    client.write(body);
    client.write(last);
    expectAnswers(await readAll(client));
  });

  test('a body that arrives after that answer is taken, and the next request', async () => {
    client.write(head);
    let size = 0;
    client.on('data', ({ length }: Buffer) => {
      const wasWhole = size >= large.length;
      size += length;
      if (size < large.length || wasWhole) return;
      client.write(body);
      client.write(last);
    });
    expectAnswers(await readAll(client));
  });
});

test('a WebSocket over TLS', async () => {
  const handler: Handler = async ({ webSocket, response }) => {
    webSocket?.accept(() => undefined)?.send(Buffer.from('{"type":"ADDED"}\n'));
    await once(response, 'close');
  };
  const server = new HttpServer({ handler, log: pino({ level: 'silent' }) });
  const { port } = await server.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: new ServerCertificate({ key: testKey, cert: testCertificate }),
  });
  const client = new WebSocket(`wss://127.0.0.1:${port}/api/v1/secrets?watch=1`, { ca: testCertificate });
  const [message] = (await once(client, 'message')) as [Buffer];
  expect(message.toString()).toBe('{"type":"ADDED"}\n');
  client.close(1000);
  expect(await once(client, 'close')).toEqual([1000, Buffer.alloc(0)]);
  await server.close({ drainTimeoutMs: 1000 });
});

test('unfinished handshakes from many addresses close no connection with a finished handshake', async () => {
  const server = new HttpServer({ handler: answerOk, log: pino({ level: 'silent' }), limits: { connections: 140 } });
  const { port } = await server.listen({
    host: '127.0.0.1',
    port: 0,
    certificate: new ServerCertificate({ key: testKey, cert: testCertificate }),
  });
  const secure = connectTls({ port, host: '127.0.0.1', ca: testCertificate });
  const ask = async (): Promise<string> => {
    secure.write(`${get}\r\n`);
    const [answer] = (await once(secure, 'data')) as [Buffer];
    return answer.toString();
  };
  expect(await ask()).toMatch(/^HTTP\/1.1 200 /);
  const unfinished = Array.from({ length: 180 }, (_, i) =>
    connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${i + 2}` }),
  );
  await Promise.all(
    unfinished.map((socket) =>
      once(
        socket.on('error', () => undefined),
        'connect',
      ),
    ),
  );
  // Unfinished handshakes may keep half of the connections; the older ones are closed.
  await Promise.all(unfinished.slice(0, 110).map((socket) => readAll(socket)));
  expect(await ask()).toMatch(/^HTTP\/1.1 200 /);
  expect(server.connections).toMatchObject({ open: 71, refused: { idle: 110 } });
  secure.destroy();
  for (const socket of unfinished) socket.destroy();
  await server.close({ drainTimeoutMs: 1000 });
});

/** Sends a GET and reads the answer; resolves with its Connection header. */
function answerOf(port: number, agent: Agent): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, agent, path: '/x' }, (response) => {
      response
        .on('error', reject)
        .on('end', () => resolve(response.headers.connection))
        .resume();
    });
    request.on('error', reject).end();
  });
}
