import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, test } from '@jest/globals';
import { WebSocket, type ClientOptions } from 'ws';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { sendJson } from '../answer/respond.ts';
import { readBody } from '../request/read-body.ts';
import type { Handler, RequestContext } from '../request/request-context.ts';
import type { WebSocketConnection } from '../request/web-socket-upgrade.ts';
import { readAll, startTestServer, type TestHttpServer } from '../server/start-test-server.ts';

const watchPath = '/apis/blog.example.com/v1/posts?watch=true';
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const version = 'Sec-WebSocket-Version: 13\r\n';
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const get = `GET ${watchPath} HTTP/1.1\r\nHost: h\r\n`;
const handshake = `${get}${upgrade}${key}${version}`;
const token = (text: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(text).toString('base64url')}`;

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

/** What the handler of `start` saw. */
interface Seen {
  contexts: RequestContext[];
  connections: WebSocketConnection[];
  refused: number;
}

/** Accepts every WebSocket, and holds it until the client is gone or has been refused. */
async function start(handler?: Handler): Promise<TestHttpServer & { seen: Seen }> {
  const seen: Seen = { contexts: [], connections: [], refused: 0 };
  const accept: Handler = async (context) => {
    seen.contexts.push(context);
    if (context.webSocket === undefined) {
      await readBody(context);
      return sendJson(context, 200, '{"ok":true}');
    }
    const { promise, resolve } = deferredEnd(context);
    const connection = context.webSocket.accept(() => {
      seen.refused += 1;
      resolve();
    });
    if (connection !== undefined) seen.connections.push(connection);
    await promise;
  };
  const server = await startTestServer(handler ?? accept);
  started.push(server);
  return { ...server, seen };
}

function deferredEnd({ response }: RequestContext): { promise: Promise<void>; resolve: () => void } {
  let resolve!: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
    response.once('close', done);
  });
  return { promise, resolve };
}

/** Resolves with the client and the head of the answer. */
async function open(
  port: number,
  protocols: string[] = [],
  options: ClientOptions = {},
): Promise<{ client: WebSocket; head: IncomingMessage }> {
  const client = new WebSocket(`ws://127.0.0.1:${port}${watchPath}`, protocols, options);
  const [[head]] = await Promise.all([once(client, 'upgrade') as Promise<[IncomingMessage]>, once(client, 'open')]);
  return { client, head };
}

describe('a handshake that is not legal gets a Status, and the connection is closed', () => {
  test.each([
    ['no key', `${get}${upgrade}${version}`, 'Sec-WebSocket-Key must be 16 bytes'],
    ['a short key', `${get}${upgrade}${version}Sec-WebSocket-Key: abc\r\n`, 'Sec-WebSocket-Key must be 16 bytes'],
    ['two keys', `${handshake}${key}`, 'Sec-WebSocket-Key must be 16 bytes'],
    ['no version', `${get}${upgrade}${key}`, 'Sec-WebSocket-Version must be 13'],
    ['an old version', `${get}${upgrade}${key}Sec-WebSocket-Version: 8\r\n`, 'Sec-WebSocket-Version must be 13'],
    ['a protocol twice', `${handshake}Sec-WebSocket-Protocol: a, a\r\n`, 'a list of different names'],
    ['an empty protocol', `${handshake}Sec-WebSocket-Protocol: a,,b\r\n`, 'a list of different names'],
    ['a protocol with a blank', `${handshake}Sec-WebSocket-Protocol: a b\r\n`, 'a list of different names'],
    ['many protocols', `${handshake}Sec-WebSocket-Protocol: ${[...Array(17).keys()].join()}\r\n`, 'at most 16'],
    ['a token alone', `${handshake}Sec-WebSocket-Protocol: ${token('t')}\r\n`, 'must name another protocol'],
    ['two tokens', `${handshake}Sec-WebSocket-Protocol: ${token('t')}, ${token('u')}, a\r\n`, 'one token only'],
    [
      'two credentials',
      `${handshake}Authorization: Bearer t\r\nSec-WebSocket-Protocol: ${token('t')}, a\r\n`,
      'must not have a token next to the header Authorization',
    ],
    ['another method', handshake.replace('GET', 'POST'), 'only a watch can be upgraded'],
    ['a body', `${handshake}Content-Length: 2\r\n`, 'only a watch can be upgraded'],
    ['no Connection', `${get}${key}${version}Upgrade: websocket\r\n`, 'only a watch can be upgraded'],
    ['another protocol', handshake.replace('Upgrade: websocket', 'Upgrade: tls/1.0'), 'only a watch can be upgraded'],
    ['no watch', handshake.replace('?watch=true', ''), 'only a watch can be upgraded'],
    ['no resource', handshake.replace(watchPath, '/livez?watch=true'), 'only a watch can be upgraded'],
  ])('%s', async (_reason, head, message) => {
    const { raw } = await start();
    const answer = await raw(`${head}\r\n`);
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toMatch(/\r\nConnection: close\r\n/i);
    expect(/\r\nSec-WebSocket-Version: 13\r\n/i.test(answer)).toBe(message.includes('Version'));
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({
      kind: 'Status',
      code: 400,
      message: expect.stringContaining(message),
    });
  });
});

test('a client that asks for h2c gets an ordinary answer, also with a body, and keeps its connection', async () => {
  const { open: connect } = await start();
  const socket = await connect();
  const h2c = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n';
  socket.write(`POST /x HTTP/1.1\r\nHost: h\r\n${h2c}Content-Length: 2\r\n\r\n{}`);
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1.1 200 /);
  socket.write('GET /y HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  expect(await readAll(socket)).toMatch(/^HTTP\/1.1 200 /);
});

describe('an accepted handshake', () => {
  test.each([
    { offered: [], selected: '' },
    { offered: ['binary.k8s.io'], selected: 'binary.k8s.io' },
    { offered: ['v4.channel.k8s.io', 'base64.binary.k8s.io'], selected: 'base64.binary.k8s.io' },
    { offered: ['other', 'another'], selected: 'other' },
  ])('selects one of the protocols $offered', async ({ offered, selected }) => {
    const { port, seen } = await start();
    const { client } = await open(port, offered);
    expect(client.protocol).toBe(selected);
    expect(seen.contexts[0]?.webSocket?.hasTokenProtocol).toBe(false);
    client.terminate();
  });

  test('has the headers of the response, and is a 101 for those who wait for its beginning', async () => {
    const { port, seen } = await start();
    const { client, head } = await open(port, [], { headers: { 'X-Request-Id': 'mine' } });
    expect(head.headers).toMatchObject({ 'x-request-id': 'mine', 'audit-id': 'mine' });
    expect(seen.contexts[0]?.response).toMatchObject({ headersSent: true, statusCode: 101 });
    client.terminate();
  });

  test('takes a token from the protocols, and does not send it back', async () => {
    const { port, seen } = await start();
    const { client, head } = await open(port, [token('pat_secret'), 'base64.binary.k8s.io']);
    expect(head.headers['sec-websocket-protocol']).toBe('base64.binary.k8s.io');
    const { request, webSocket } = seen.contexts[0]!;
    expect(request.headers.authorization).toBe('Bearer pat_secret');
    expect(request.headers['sec-websocket-protocol']).toBe('base64.binary.k8s.io');
    expect(webSocket?.hasTokenProtocol).toBe(true);
    client.terminate();
  });

  test.each(['%%%', 'YQ==', 'YR', ''])('a token that is not base64url is an empty one: %p', async (encoded) => {
    const { raw, seen } = await start((context) => {
      seen.contexts.push(context);
      return sendJson(context, 401, '{}');
    });
    const protocols = `base64url.bearer.authorization.k8s.io.${encoded}, a`;
    const answer = await raw(`${handshake}Sec-WebSocket-Protocol: ${protocols}\r\n\r\n`);
    if (encoded === 'YQ==') expect(answer).toMatch(/^HTTP\/1.1 400 /);
    else expect(seen.contexts[0]?.request.headers.authorization).toBe('Bearer ');
  });
});

describe('a client that sends what it must not send is refused', () => {
  test.each<[string, number, (client: WebSocket) => void]>([
    ['a message', 1008, (client) => client.send('hello')],
    ['a large message', 1009, (client) => client.send('x'.repeat(2000))],
    ['many pings', 1008, (client) => Array.from({ length: 200 }, () => client.ping())],
    ['a message in many pieces', 1008, (client) => Array.from({ length: 30 }, () => client.send('x', { fin: false }))],
    [
      'an endless message',
      1009,
      (client) => Array.from({ length: 5 }, () => client.send('x'.repeat(300), { fin: false })),
    ],
  ])('%s: %i', async (_reason, code, send) => {
    const { port, seen } = await start();
    const { client } = await open(port);
    const closed = once(client, 'close') as Promise<[number]>;
    send(client);
    expect((await closed)[0]).toBe(code);
    expect(seen.refused).toBeGreaterThan(0);
  });

  test.each([
    ['without a mask', '810548656c6c6f'],
    ['of an unknown kind', '8b8000000000'],
    ['with a reserved bit', 'c18000000000'],
    ['a ping in pieces', '098000000000'],
    ['a close frame with half a code', '888100000000ff'],
    ['a continuation of nothing', '808000000000'],
    ['text that is not UTF-8', '818100000000ff'],
  ])('a frame %s', async (_reason, hex) => {
    const { open: connect, seen } = await start();
    const socket = await connect();
    socket.write(`${handshake}\r\n`);
    await once(socket, 'data');
    const rest = readAll(socket);
    socket.write(Buffer.from(hex, 'hex'));
    // The server sends a close frame and waits for that of the client, or for the end of the connection.
    await pollUntil(() => seen.refused > 0);
    socket.end();
    expect(Buffer.from(await rest, 'latin1').toString('hex')).toMatch(/^8802(03ea|03ef|03f0)/);
  });
});

test('an early frame, in the same packet as the handshake, is read', async () => {
  const { open: connect } = await start();
  const socket = await connect();
  const rest = readAll(socket);
  socket.write(Buffer.concat([Buffer.from(`${handshake}\r\n`), Buffer.from('88820000000003e8', 'hex')]));
  expect(Buffer.from(await rest, 'latin1').toString('hex')).toMatch(/0d0a0d0a880203e8$/);
});

test('a handshake behind unanswered requests ends the connection after their answers', async () => {
  const { raw, seen } = await start();
  const answer = await raw(`GET /a HTTP/1.1\r\nHost: h\r\n\r\n${handshake}\r\n`);
  expect(answer.match(/HTTP\/1.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  expect(seen.contexts).toHaveLength(1);
});

test('a handler that fails after it has accepted ends the connection', async () => {
  const { port, logs } = await start((context) => {
    context.webSocket?.accept(() => undefined);
    throw new Error('a bug');
  });
  const client = new WebSocket(`ws://127.0.0.1:${port}${watchPath}`);
  const [code] = (await once(client, 'close')) as [number];
  expect(code).toBe(1006);
  expect(logs.some(({ msg }) => msg === 'internal error')).toBe(true);
});

test('a handler that forgets a WebSocket ends it, and says so', async () => {
  const { port, logs } = await start((context) => {
    context.webSocket?.accept(() => undefined);
    return Promise.resolve();
  });
  const client = new WebSocket(`ws://127.0.0.1:${port}${watchPath}`);
  await once(client, 'close');
  expect(logs.some(({ msg }) => msg === 'request failed outside withStatus')).toBe(true);
});

test('the server closes although a client does not answer its close frame', async () => {
  const { server, open: connect, seen } = await start();
  const socket = await connect();
  socket.write(`${handshake}\r\n`);
  await once(socket, 'data');
  socket.pause();
  seen.connections[0]!.close(1001, 'bye');
  await server.close({ drainTimeoutMs: 50 });
  const [context] = seen.contexts;
  expect(context?.response.destroyed).toBe(true);
  socket.destroy();
});

test('a client that leaves aborts the signal of its request', async () => {
  const { port, seen } = await start();
  const { client } = await open(port);
  const aborted = once(seen.contexts[0]!.signal, 'abort');
  client.close();
  await aborted;
});
