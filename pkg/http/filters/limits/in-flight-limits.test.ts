import { once } from 'node:events';
import { afterEach, describe, expect, test } from '@jest/globals';
import { readBody } from '../../request/read-body.ts';
import type { Filter, RequestContext } from '../../request/request-context.ts';
import { sendJson } from '../../answer/respond.ts';
import { deferred, startTestServer, type TestHttpServer } from '../../server/start-test-server.ts';
import { InFlightLimits, type MaxInFlight } from './in-flight-limits.ts';
import type { RefusedBy } from './limit-refusal.ts';
import { withAuthentication } from '../with-authentication.ts';
import { withRequestId } from '../with-request-id.ts';
import { withStatus } from '../with-status.ts';
import { withTimeout } from '../with-timeout.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

const posts = '/apis/g.io/v1/posts';
const exemptions = new Map([
  ['/livez', 'everything'],
  ['/readyz', 'everything'],
  ['/metrics', 'metrics'],
] as const);
const exemption: NonNullable<MaxInFlight['exemption']> = ({ path }) => exemptions.get(path as '/livez');

/** Sets the user from a header, in place of `withAuthentication`. */
const withUser: Filter = (next) => (context) => {
  const name = context.request.headers['x-user'];
  if (typeof name === 'string') context.user = { name, uid: '', groups: [] };
  return next(context);
};

interface Held {
  server: TestHttpServer;
  limits: InFlightLimits;
  refused: RefusedBy[];
  /** Resolves when `count` requests have reached the handler. */
  readonly arrived: (count: number) => Promise<void>;
  /** From now on every handler ends. */
  readonly finish: () => void;
}

/** Starts a server whose handler holds every request until `finish` is called. */
async function start(options: MaxInFlight, { timeoutMs = 30_000 }: { timeoutMs?: number } = {}): Promise<Held> {
  const refused: RefusedBy[] = [];
  const limits = new InFlightLimits({
    exemption,
    ...options,
    observer: { refused: (by) => void refused.push(by), waited: () => {} },
  });
  const finished = deferred();
  const arrivals = { count: 0, wake: (): void => {} };
  const handler = async (context: RequestContext): Promise<void> => {
    if (context.info.path !== '/livez' && context.info.path !== '/apis') {
      arrivals.count += 1;
      arrivals.wake();
      if (context.info.name === 'stream') context.response.flushHeaders();
      await finished.opened;
      if (context.info.name === 'stream') return void context.response.end();
    }
    await sendJson(context, 200, `{"waited":${context.waitedMs > 0}}`);
  };
  const server = await startTestServer(handler, {
    filters: () => [
      withRequestId(),
      withStatus(),
      withTimeout({ timeoutMs }),
      limits.beforeAuthentication,
      withUser,
      limits.afterAuthentication,
    ],
  });
  started.push(server);
  const arrived = async (wanted: number): Promise<void> => {
    while (arrivals.count < wanted) {
      await new Promise<void>((resolve) => {
        arrivals.wake = resolve;
      });
    }
  };
  return { server, limits, refused, arrived, finish: () => finished.open() };
}

describe('429 for too many', () => {
  test.each<[string, MaxInFlight, string, RefusedBy]>([
    ['requests', { total: 1 }, posts, 'total'],
    ['requests of one user', { perUser: 1 }, posts, 'user'],
    ['watches', { watches: 1 }, `${posts}?watch=1`, 'watches'],
    ['watches of one user', { watchesPerUser: 1 }, `${posts}?watch=1`, 'user_watches'],
  ])('%s, and none afterwards', async (_reason, limits, path, by) => {
    const { server, refused, arrived, finish } = await start({ ...limits, maxWaitMs: 5 });
    const headers = { 'x-user': 'u' };
    const held = server.send({ path, headers });
    await arrived(1);
    const second = await server.send({ path, headers });
    expect([second.status, second.headers['retry-after'], refused]).toEqual([429, '1', [by]]);
    expect(JSON.parse(second.body.toString())).toMatchObject({
      kind: 'Status',
      reason: 'TooManyRequests',
      details: { retryAfterSeconds: 1 },
    });
    expect((await server.send({ path: '/livez' })).status).toBe(200);
    finish();
    expect((await held).status).toBe(200);
    expect((await server.send({ path, headers })).status).toBe(200);
  });
});

test('one too many waits for another to end', async () => {
  const { server, limits, refused, arrived, finish } = await start({ total: 1, maxWaitMs: 20_000 });
  const held = server.send({ path: posts });
  await arrived(1);
  const waiting = server.send({ path: posts });
  const gone = await server.open();
  gone.write(`GET ${posts} HTTP/1.1\r\nHost: h\r\n\r\n`);
  while (limits.waiting < 2) await new Promise(setImmediate);
  gone.destroy();
  finish();
  expect(String((await held).body)).toBe('{"waited":false}');
  expect(String((await waiting).body)).toBe('{"waited":true}');
  expect([refused.length <= 1, limits.running, limits.waiting]).toEqual([true, 0, 0]);
});

test('a request that waits for others with the same credential holds no slot of the total', async () => {
  const { server, arrived, finish } = await start({ total: 2, perUser: 1, maxWaitMs: 20_000 });
  for (const name of ['heavy', 'light'])
    await server.send({ path: '/apis', headers: { authorization: `Bearer ${name}`, 'x-user': name } });
  const heavy = [1, 2, 3].map(() =>
    server.send({ path: posts, headers: { authorization: 'Bearer heavy', 'x-user': 'heavy' } }),
  );
  await arrived(1);
  const light = server.send({ path: posts, headers: { authorization: 'Bearer light', 'x-user': 'light' } });
  await arrived(2);
  finish();
  for (const answer of [light, ...heavy]) expect((await answer).status).toBe(200);
});

test('a user has no more with two credentials than with one', async () => {
  const { server, refused, arrived, finish } = await start({ perUser: 1, maxWaitMs: 5 });
  const first = server.send({ path: posts, headers: { authorization: 'Bearer 1', 'x-user': 'u' } });
  await arrived(1);
  expect((await server.send({ path: posts, headers: { authorization: 'Bearer 2', 'x-user': 'u' } })).status).toBe(429);
  expect(refused).toEqual(['user']);
  finish();
  expect((await first).status).toBe(200);
});

const stream = `${posts}?watch=1&fieldSelector=metadata.name%3Dstream`;

test('a watch counts as a request until its stream has begun, and then only as a watch', async () => {
  const { server, limits, refused, arrived, finish } = await start({ total: 1, perUser: 1, watches: 2, maxWaitMs: 5 });
  const streaming = server.send({ path: stream });
  await arrived(1);
  while (limits.running > 0) await new Promise(setImmediate);
  const beginning = server.send({ path: `${posts}?watch=1` });
  await arrived(2);
  expect((await server.send({ path: posts })).status).toBe(429);
  expect((await server.send({ path: stream })).status).toBe(429);
  expect(refused).toEqual(['total', 'total']);
  finish();
  for (const answer of [streaming, beginning]) expect((await answer).status).toBe(200);
  expect([(await server.send({ path: stream })).status, limits.running]).toEqual([200, 0]);
});

test('a watch that is not authenticated releases its slots', async () => {
  const limits = new InFlightLimits({ total: 1, perUser: 1, watches: 1, maxWaitMs: 5 });
  const server = await startTestServer((context) => sendJson(context, 200, '{}'), {
    filters: () => [
      withRequestId(),
      withStatus(),
      limits.beforeAuthentication,
      withAuthentication({ authenticateRequest: () => Promise.resolve(undefined) }),
      limits.afterAuthentication,
    ],
  });
  started.push(server);
  for (let i = 0; i < 3; i += 1)
    expect((await server.send({ path: stream, headers: { authorization: `Bearer ${i}` } })).status).toBe(401);
  expect([limits.running, limits.waiting]).toEqual([0, 0]);
});

test('metrics have separate slots, and any number of probes needs none', async () => {
  const { server, refused, arrived, finish } = await start({ total: 1, maxWaitMs: 0 });
  const held = ['/readyz', '/metrics'].flatMap((path) =>
    Array.from({ length: path === '/metrics' ? 64 : 300 }, () => server.send({ path })),
  );
  await arrived(364);
  const statuses: number[] = [];
  for (const path of ['/metrics', '/livez']) statuses.push((await server.send({ path })).status);
  expect([statuses, refused]).toEqual([[429, 200], ['metrics']]);
  finish();
  for (const answer of held) expect((await answer).status).toBe(200);
});

test('invented credentials share the slots of their address, and a recently valid one has its own', async () => {
  const { server, refused, arrived, finish } = await start({ total: 200, perUser: 90, maxWaitMs: 5 });
  const good = { authorization: 'Bearer good', 'x-user': 'u' };
  await server.send({ path: '/apis', headers: good });
  const invented = Array.from({ length: 32 }, (_, i) =>
    server.send({ path: posts, headers: { authorization: `Bearer ${i}` } }),
  );
  await arrived(32);
  expect((await server.send({ path: posts, headers: { authorization: 'Bearer another' } })).status).toBe(429);
  expect((await server.send({ path: stream, headers: { authorization: 'Bearer another' } })).status).toBe(429);
  expect(refused).toEqual(['address', 'address']);
  expect((await server.send({ path: '/apis', headers: good })).status).toBe(200);
  finish();
  for (const answer of invented) expect((await answer).status).toBe(200);
});

test('a client that left while it waited is not counted as refused', async () => {
  const { server, limits, refused, arrived, finish } = await start({ total: 1, maxWaitMs: 20_000 });
  const held = server.send({ path: posts });
  await arrived(1);
  const gone = await server.open();
  gone.write(`GET ${posts} HTTP/1.1\r\nHost: h\r\n\r\n`);
  while (limits.waiting < 1) await new Promise(setImmediate);
  gone.destroy();
  while (limits.waiting > 0) await new Promise(setImmediate);
  finish();
  await held;
  expect([refused, limits.running]).toEqual([[], 0]);
});

test('a request that timed out counts until its work has ended', async () => {
  const { server, arrived, finish } = await start({ total: 1, maxWaitMs: 5 }, { timeoutMs: 20 });
  expect((await server.send({ path: posts })).status).toBe(504);
  await arrived(1);
  expect((await server.send({ path: posts })).status).toBe(429);
  finish();
  // The handler ends later.
  let status: number;
  do ({ status } = await server.send({ path: posts }));
  while (status === 429);
  expect(status).toBe(200);
});

describe('a connection cut at any stage leaves no slot taken', () => {
  const watchOf = (name: string): string => `?watch=1&fieldSelector=metadata.name%3D${name}`;
  const head = (method: string, more = '', query = ''): string =>
    `${method} ${posts}${query} HTTP/1.1\r\nHost: h\r\nX-User: u\r\n${more}\r\n`;
  const stages: { reason: string; bytes: string; holds: boolean }[] = [
    { reason: 'during its head', bytes: `GET ${posts} HTTP/1.1\r\nHos`, holds: false },
    { reason: 'while it waits in the queue', bytes: head('GET'), holds: true },
    { reason: 'during its body', bytes: `${head('POST', 'Content-Length: 10\r\n')}abc`, holds: false },
    { reason: 'before its body', bytes: head('POST', 'Content-Length: 10\r\nExpect: 100-continue\r\n'), holds: false },
    { reason: 'during its answer', bytes: head('PUT'), holds: false },
    { reason: 'of a watch that waits in the queue', bytes: head('GET', '', watchOf('quiet')), holds: true },
    { reason: 'of a watch before its stream begins', bytes: head('GET', '', watchOf('quiet')), holds: false },
    {
      reason: 'of a watch while it is authenticated',
      bytes: head('GET', 'X-Slow: 1\r\n', watchOf('quiet')),
      holds: false,
    },
    { reason: 'of a watch during its stream', bytes: head('GET', '', watchOf('stream')), holds: false },
    { reason: 'with more than one request', bytes: head('GET').repeat(3), holds: false },
  ];
  test.each(stages)('$reason', async ({ bytes, holds }) => {
    const limits = new InFlightLimits({ total: 1, perUser: 1, watches: 1, watchesPerUser: 1, maxWaitMs: 50 });
    const open = deferred();
    const begun = deferred();
    const untilCut = async ({ signal }: RequestContext): Promise<void> => {
      if (!signal.aborted) await once(signal, 'abort');
    };
    const slowLookup: Filter = (next) => async (context) => {
      if (context.request.headers['x-slow'] !== undefined) {
        begun.open();
        await untilCut(context);
      }
      await next(context);
    };
    const handler = async (context: RequestContext): Promise<void> => {
      begun.open();
      const { method } = context.request;
      if (context.info.name === 'stream') context.response.flushHeaders();
      if (context.info.name === 'stream' || context.info.name === 'quiet') return untilCut(context);
      if (context.info.name === 'held') await open.opened;
      if (method === 'POST') await readBody(context);
      if (method === 'PUT') {
        context.response.write('begin');
        await untilCut(context);
      }
      await sendJson(context, 200, '{}');
    };
    const server = await startTestServer(handler, {
      filters: () => [
        withRequestId(),
        withStatus(),
        withTimeout({ timeoutMs: 20_000 }),
        limits.beforeAuthentication,
        slowLookup,
        withUser,
        limits.afterAuthentication,
      ],
    });
    started.push(server);
    const held = holds ? server.send({ path: `${posts}/held` }) : undefined;
    if (holds) await begun.opened;
    const socket = await server.open();
    socket.on('error', () => undefined).write(bytes);
    if (!holds && !bytes.endsWith('Hos')) await begun.opened;
    socket.destroy();
    open.open();
    await held;
    // The server may not have noticed the closed connections yet.
    let status: number;
    do ({ status } = await server.send({ path: posts, headers: { 'x-user': 'u' } }));
    while (status === 429);
    expect([status, limits.waiting, limits.running]).toEqual([200, 0, 0]);
    const watching = await server.open();
    watching.write(head('GET', '', watchOf('stream')));
    const [first] = (await once(watching, 'data')) as [Buffer];
    watching.destroy();
    expect(first.toString()).toMatch(/^HTTP\/1.1 200/);
  });
});
