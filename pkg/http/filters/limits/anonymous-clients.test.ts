import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newUnauthorized } from '#pkg/apimachinery/index';
import { pollUntil } from '../../../testenv/faults/poll-until.ts';
import { TrustedProxies } from '../../connection/client-address.ts';
import { secretKey } from '../../request/credential-key.ts';
import { ByteBudget } from '../../memory/byte-budget.ts';
import { readBody } from '../../request/read-body.ts';
import type { Filter, RequestContext } from '../../request/request-context.ts';
import { sendJson } from '../../answer/respond.ts';
import { sendStream } from '../../answer/send-stream.ts';
import type { ContextMemory } from '../../server/server-request-context.ts';
import { deferred, readAll, startTestServer, type TestHttpServer } from '../../server/start-test-server.ts';
import { InFlightLimits, type MaxInFlight } from './in-flight-limits.ts';
import type { RefusedBy } from './limit-refusal.ts';
import { withRequestId } from '../with-request-id.ts';
import { withStatus } from '../with-status.ts';
import { withTimeout } from '../with-timeout.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

interface Started extends TestHttpServer {
  limits: InFlightLimits;
  refused: RefusedBy[];
  /** Credentials that were looked up. */
  lookups: string[];
  /** Number of requests whose handler has ended. */
  readonly answers: number;
  /** Resolves when `count` requests wait in the handler of `/held`. */
  readonly held: (count: number) => Promise<void>;
  readonly finish: () => void;
}

/**
 * Valid: `Bearer good...`, the cookie `good`, and a signature of `key` that says `right`. Any other credential is 401;
 * a request without one is anonymous.
 */
async function start(options: MaxInFlight, memory?: ContextMemory): Promise<Started> {
  const refused: RefusedBy[] = [];
  const lookups: string[] = [];
  const open = deferred();
  const arrivals = { count: 0 };
  const limits = new InFlightLimits({
    credentialOf: ({ authorization, cookie }) => {
      if (authorization?.startsWith('Signature') === true) return { key: 'key', isPublic: true };
      const secret = authorization ?? cookie;
      return secret === undefined ? undefined : secretKey(secret);
    },
    ...options,
    observer: { refused: (by) => void refused.push(by), waited: () => {} },
  });
  const withLookup: Filter = (next) => async (context) => {
    const { authorization, cookie } = context.request.headers;
    const credential = authorization ?? cookie;
    if (credential !== undefined) {
      lookups.push(credential);
      await new Promise(setImmediate);
      if (!/good|right/.test(credential)) throw newUnauthorized();
      context.user = { name: 'ada', uid: '', groups: [] };
    }
    await next(context);
  };
  const answer = async (context: RequestContext): Promise<void> => {
    if (context.info.path === '/held') {
      arrivals.count += 1;
      await open.opened;
    }
    if (context.info.path === '/large') return sendJson(context, 200, largeBody);
    if (context.info.path === '/stream') return sendStream(context, 200, pieces());
    await sendJson(
      context,
      200,
      JSON.stringify({ size: context.request.method === 'POST' ? (await readBody(context)).length : 0 }),
    );
  };
  let answers = 0;
  const handler = async (context: RequestContext): Promise<void> => {
    await answer(context);
    answers += 1;
  };
  const server = await startTestServer(handler, {
    proxies: new TrustedProxies(['127.0.0.1']),
    ...(memory === undefined ? {} : { memory }),
    filters: () => [
      withRequestId(),
      withStatus(),
      withTimeout({ timeoutMs: 20_000 }),
      limits.beforeAuthentication,
      withLookup,
      limits.afterAuthentication,
    ],
  });
  started.push(server);
  const held = async (count: number): Promise<void> => {
    while (arrivals.count < count) await new Promise(setImmediate);
  };
  return {
    ...server,
    limits,
    refused,
    lookups,
    get answers() {
      return answers;
    },
    held,
    finish: () => open.open(),
  };
}

/** More than the system's buffers hold if the client does not read. */
const largeBytes = 16 * 1024 * 1024;
const largeBody = Buffer.alloc(largeBytes);

async function* pieces(): AsyncGenerator<Buffer> {
  for (let i = 0; i < 64; i += 1) yield Buffer.alloc(largeBytes / 64);
}

const of = (address: string): Record<string, string> => ({ 'x-forwarded-for': address });
const slowPost = (headers = ''): string => `POST /x HTTP/1.1\r\nHost: h\r\n${headers}Content-Length: 10\r\n\r\na`;

async function sendSlowly(server: Started, count: number, headers?: string): Promise<Socket[]> {
  const before = server.limits.senders.count;
  const sockets = await Promise.all(Array.from({ length: count }, () => server.open()));
  for (const socket of sockets) socket.on('error', () => undefined).write(slowPost(headers));
  while (server.limits.senders.count < before + count) await new Promise(setImmediate);
  return sockets;
}

describe('a body that is still arriving', () => {
  test('holds no slot, and takes one when it is complete', async () => {
    const server = await start({ total: 4, perUser: 4, maxWaitMs: 0 });
    const sockets = await sendSlowly(server, 8);
    expect(server.limits.running).toBe(0);
    expect((await server.send({ path: '/x' })).status).toBe(200);
    for (const socket of sockets) {
      socket.write('bcdefghij');
      expect(String(((await once(socket, 'data')) as [Buffer])[0])).toMatch(/^HTTP\/1.1 200 [^]*{"size":10}$/);
    }
    expect([server.limits.running, server.limits.senders.count, server.refused]).toEqual([0, 0, []]);
  });

  test('waits for a slot before newer requests', async () => {
    const server = await start({ total: 4, perUser: 4, maxWaitMs: 20_000 });
    const [socket] = await sendSlowly(server, 1);
    const held = server.send({ path: '/held' });
    await server.held(1);
    const later = server.send({ path: '/x' });
    while (server.limits.waiting < 1) await new Promise(setImmediate);
    socket!.write('bcdefghij');
    while (server.limits.waiting < 2) await new Promise(setImmediate);
    const order: string[] = [];
    const first = once(socket!, 'data').then(() => order.push('the body'));
    server.finish();
    await Promise.all([held, first, later.then(() => order.push('the later one'))]);
    expect(order).toEqual(['the body', 'the later one']);
  });

  test('that finds no slot again is refused', async () => {
    const server = await start({ total: 4, perUser: 4, maxWaitMs: 0 });
    const [socket] = await sendSlowly(server, 1);
    const held = server.send({ path: '/held' });
    await server.held(1);
    socket!.write('bcdefghij');
    expect(String(((await once(socket!, 'data')) as [Buffer])[0])).toMatch(/^HTTP\/1.1 429 [^]*Retry-After/i);
    server.finish();
    expect((await held).status).toBe(200);
    expect([server.limits.running, server.refused]).toEqual([0, ['strangers']]);
  });

  test('that arrives too slowly is 408', async () => {
    const server = await start({ total: 4, senders: { minBytesPerSecond: 1000, graceMs: 20 } });
    expect(await readAll((await sendSlowly(server, 1))[0]!)).toMatch(
      /^HTTP\/1.1 408 [^]*less than 1000 bytes a second/,
    );
  });

  test('of an anonymous client blocks nobody: not the next of its address, not other anonymous clients, not known users', async () => {
    const server = await start({ total: 8, perUser: 4, senders: { total: 8, perAddress: 2 }, maxWaitMs: 0 });
    await sendSlowly(server, 2, 'X-Forwarded-For: 192.0.2.1\r\n');
    const post = { method: 'POST', path: '/x', body: 'x'.repeat(200_000) };
    const more = await server.send({ ...post, headers: of('192.0.2.1') });
    expect([more.status, server.refused]).toEqual([429, ['address_senders']]);
    expect((await server.send({ path: '/x', headers: of('192.0.2.1') })).status).toBe(200);
    expect((await server.send({ ...post, headers: of('192.0.2.2') })).status).toBe(200);
    expect((await server.send({ ...post, headers: { ...of('192.0.2.1'), authorization: 'Bearer good' } })).status).toBe(
      200,
    );
  });
});

describe('an answer that nobody reads', () => {
  const good = { authorization: 'Bearer good' };
  const ask = (path: string, headers: Record<string, string>): string =>
    `GET ${path} HTTP/1.1\r\nHost: h\r\n${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join('')}\r\n`;

  /** Sends requests on one connection whose client does not read. */
  async function sendWithoutReading(server: Started, requests: string): Promise<Socket> {
    const socket = await server.open();
    socket
      .pause()
      .on('error', () => undefined)
      .write(requests);
    return socket;
  }

  test.each([
    { reason: 'of a user', mine: good, others: {}, by: 'user' },
    { reason: 'of anonymous clients of an address', mine: of('192.0.2.1'), others: of('192.0.2.2'), by: 'address' },
  ])('$reason counts only for its network until it is sent', async ({ mine, others, by }) => {
    // At most 32 anonymous requests of one address.
    const server = await start({ total: 200, perUser: 32, maxWaitMs: 0 });
    expect((await server.send({ path: '/x', headers: good })).status).toBe(200);
    const sockets = await Promise.all(
      Array.from({ length: 32 }, () => sendWithoutReading(server, ask('/large', mine))),
    );
    await pollUntil(() => server.answers === 33 && server.limits.running === 0);
    expect([(await server.send({ path: '/x', headers: mine })).status, server.refused]).toEqual([429, [by]]);
    expect((await server.send({ path: '/x', headers: others })).status).toBe(200);
    sockets[0]!.resume();
    await pollUntil(async () => (await server.send({ path: '/x', headers: mine })).status === 200);
    for (const socket of sockets) socket.destroy();
  });

  test('and is counted by its bytes holds no slot', async () => {
    const budget = new ByteBudget({ total: 100 * 1024 * 1024, parsed: 1 });
    const server = await start({ total: 4, perUser: 1, maxWaitMs: 0 }, { budget });
    expect((await server.send({ path: '/x', headers: good })).status).toBe(200);
    const socket = await sendWithoutReading(server, ask('/large', good));
    await pollUntil(() => server.answers === 2 && server.limits.running === 0);
    expect(budget.transfer.used).toBe(largeBytes);
    expect((await server.send({ path: '/x', headers: good })).status).toBe(200);
    socket.destroy();
    await pollUntil(() => budget.transfer.used === 0);
  });

  test('while it is produced in pieces holds no slot that others need, and continues without one when it is read', async () => {
    const server = await start({ total: 1, perUser: 8, maxWaitMs: 5 });
    expect((await server.send({ path: '/x', headers: good })).status).toBe(200);
    const socket = await sendWithoutReading(server, ask('/stream', { ...good, connection: 'close' }));
    // The request keeps its slots after the lookup until it waits for its reader.
    await pollUntil(
      () => server.lookups.length === 2 && server.limits.running === 0,
      undefined,
      'the answer to wait for its reader',
    );
    const held = server.send({ path: '/held', headers: good });
    await server.held(1);
    expect((await readAll(socket.resume())).length).toBeGreaterThan(largeBytes);
    server.finish();
    expect((await held).status).toBe(200);
    expect(server.limits.running).toBe(0);
  });
});

describe('a known user', () => {
  test.each([
    { reason: 'by a header', headers: { authorization: 'Bearer good' } },
    { reason: 'by a cookie', headers: { cookie: 'good' } },
    { reason: 'by a signature', headers: { authorization: 'Signature right' } },
  ])('$reason shares no slot with anonymous clients of the same address', async ({ headers }) => {
    const server = await start({ total: 8, perUser: 8, maxWaitMs: 0 });
    expect((await server.send({ path: '/x', headers })).status).toBe(200);
    const anonymousRequests = [1, 2].map(() => server.send({ path: '/held' }));
    await server.held(2);
    expect((await server.send({ path: '/x' })).status).toBe(429);
    expect(server.refused).toEqual(['strangers']);
    expect((await server.send({ path: '/x', headers })).status).toBe(200);
    // A new client with a valid credential only needs a lookup.
    expect((await server.send({ path: '/x', headers: { authorization: 'Bearer good too' } })).status).toBe(200);
    server.finish();
    for (const answer of anonymousRequests) expect((await answer).status).toBe(200);
  });

  test('sends two hundred requests at once, and none is refused', async () => {
    const server = await start({ total: 256, perUser: 192 });
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => server.send({ path: '/x', headers: { cookie: 'good' } })),
    );
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  });
});

describe('wrong credentials', () => {
  const wrong = (i: number | string): { authorization: string } => ({ authorization: `Bearer ${i}` });

  test('beyond the limit of one network cause no lookup, and do not block known users', async () => {
    const server = await start({ total: 8, perUser: 8, wrongCredentialsPerMinute: 3 });
    const good = { ...of('192.0.2.1'), authorization: 'Bearer good' };
    expect((await server.send({ path: '/x', headers: good })).status).toBe(200);
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1)
      statuses.push((await server.send({ path: '/x', headers: { ...of('192.0.2.1'), ...wrong(i) } })).status);
    expect([statuses, server.refused]).toEqual([
      [401, 401, 401, 429, 429],
      ['wrong_credentials', 'wrong_credentials'],
    ]);
    expect(server.lookups.filter((each) => /\d/.test(each))).toEqual(['Bearer 0', 'Bearer 1', 'Bearer 2']);
    expect((await server.send({ path: '/x', headers: of('192.0.2.1') })).status).toBe(200);
    expect((await server.send({ path: '/x', headers: good })).status).toBe(200);
    expect((await server.send({ path: '/x', headers: { ...of('192.0.2.2'), ...wrong(9) } })).status).toBe(401);
  });

  test('that were valid before are forgotten, except the name of a key that another client uses wrongly', async () => {
    const server = await start({ total: 8, perUser: 8, wrongCredentialsPerMinute: 1 });
    expect((await server.send({ path: '/x', headers: { authorization: 'Signature right' } })).status).toBe(200);
    for (let i = 0; i < 3; i += 1)
      expect((await server.send({ path: '/x', headers: { authorization: 'Signature wrong' } })).status).toBe(401);
    // From another address the key id gives no priority.
    const elsewhere = { ...of('192.0.2.1'), authorization: 'Signature wrong' };
    expect([
      (await server.send({ path: '/x', headers: elsewhere })).status,
      (await server.send({ path: '/x', headers: elsewhere })).status,
    ]).toEqual([401, 429]);
    expect((await server.send({ path: '/x', headers: { authorization: 'Signature right' } })).status).toBe(200);
  });

  test('are looked up if the path has no other limits', async () => {
    const server = await start({ total: 1, exemption: () => 'open', wrongCredentialsPerMinute: 1 });
    const held = Array.from({ length: 100 }, () => server.send({ path: '/held' }));
    await server.held(100);
    expect([
      (await server.send({ path: '/x', headers: wrong(1) })).status,
      (await server.send({ path: '/x', headers: wrong(2) })).status,
    ]).toEqual([401, 429]);
    server.finish();
    for (const answer of held) expect((await answer).status).toBe(200);
  });
});
