import { afterEach, expect, test } from '@jest/globals';
import { readBody } from '../../request/read-body.ts';
import type { Filter, RequestContext } from '../../request/request-context.ts';
import { sendJson } from '../../answer/respond.ts';
import { startTestServer, type TestHttpServer } from '../../server/start-test-server.ts';
import { withRequestId } from '../with-request-id.ts';
import { withStatus } from '../with-status.ts';
import { InFlightLimits, type MaxInFlight } from './in-flight-limits.ts';
import type { RefusedBy } from './limit-refusal.ts';
import { hasLargeBody, type LevelReader } from './priority-level.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

interface Fairness {
  server: TestHttpServer;
  limits: InFlightLimits;
  refused: RefusedBy[];
  /** Paths of the requests that run, in the order in which they began. */
  running: string[];
  /** Authenticates, so that the credential of the user is known. */
  know: (user: string, groups?: string) => Promise<void>;
  /** Sends a request that runs until `end` or `endAll`. */
  send: (path: string, user: string, more?: { body?: string }) => ReturnType<TestHttpServer['send']>;
  /** Resolves when so many requests run. */
  ran: (count: number) => Promise<void>;
  end: (path: string) => void;
  endAll: () => void;
}

const levelOf: LevelReader = ({ info, request }) => {
  if (info.path.startsWith('/lease')) return 'system';
  return info.path.startsWith('/list') || hasLargeBody(request.headers) ? 'bulk' : 'users';
};

/** The user is the credential up to a hyphen. Groups are told by a header, for the test only. */
const withUser: Filter = (next) => (context) => {
  const { authorization, 'x-groups': groups = '' } = context.request.headers;
  const name = authorization?.slice('Bearer '.length).split('-')[0];
  if (name !== undefined) context.user = { name, uid: `id of ${name}`, groups: String(groups).split(',') };
  return next(context);
};

async function start(options: MaxInFlight): Promise<Fairness> {
  const refused: RefusedBy[] = [];
  const running: string[] = [];
  const ends = new Map<string, () => void>();
  let isOver = false;
  const limits = new InFlightLimits({
    levelOf,
    systemGroups: ['controllers'],
    ...options,
    observer: { refused: (by) => void refused.push(by), waited: () => {} },
  });
  const handler = async (context: RequestContext): Promise<void> => {
    const { path } = context.info;
    if (context.request.method === 'POST') await readBody(context);
    if (path !== '/known' && !isOver) {
      running.push(path);
      await new Promise<void>((resolve) => {
        ends.set(path, resolve);
      });
    }
    await sendJson(context, 200, '{}');
  };
  const server = await startTestServer(handler, {
    filters: () => [withRequestId(), withStatus(), limits.beforeAuthentication, withUser, limits.afterAuthentication],
  });
  started.push(server);
  const authorization = (user: string): { authorization: string } => ({ authorization: `Bearer ${user}` });
  return {
    server,
    limits,
    refused,
    running,
    know: async (user, groups = '') => {
      await server.send({ path: '/known', headers: { ...authorization(user), 'x-groups': groups } });
    },
    send: (path, user, { body } = {}) =>
      server.send({ path, headers: authorization(user), ...(body === undefined ? {} : { method: 'POST', body }) }),
    ran: async (count) => {
      while (running.length < count) await new Promise(setImmediate);
    },
    end: (path) => ends.get(path)!(),
    endAll: () => {
      isOver = true;
      for (const end of ends.values()) end();
    },
  };
}

async function waiting(limits: InFlightLimits, count: number): Promise<void> {
  while (limits.waiting < count) await new Promise(setImmediate);
}

const shares = { total: 8, reserved: 2, bulk: 2, maxWaitMs: 20_000 };

test('a request of one user waits for one of another, however many that one has waiting, with any credential', async () => {
  const { send, know, ran, running, limits, end, endAll } = await start({ total: 1, maxWaitMs: 20_000 });
  for (const user of ['heavy', 'heavy-2', 'light']) await know(user);
  const sent = [send('/first', 'heavy')];
  await ran(1);
  for (let i = 0; i < 6; i += 1) sent.push(send(`/heavy${i}`, i % 2 === 0 ? 'heavy' : 'heavy-2'));
  await waiting(limits, 6);
  sent.push(send('/light', 'light'));
  await waiting(limits, 7);
  end('/first');
  await ran(2);
  end(running[1]!);
  await ran(3);
  expect([running[1]!.slice(0, 6), running[2]]).toEqual(['/heavy', '/light']);
  endAll();
  for (const answer of sent) expect((await answer).status).toBe(200);
  expect([limits.running, limits.waiting]).toEqual([0, 0]);
});

test('users and bulk never take the slots of the system, for leases and for members of its groups', async () => {
  const { send, know, ran, limits, endAll } = await start(shares);
  for (const user of ['ada', 'bob']) await know(user);
  await know('manager', 'controllers');
  const sent = Array.from({ length: 20 }, (_, i) => send(`/get${i}`, 'ada'));
  sent.push(...Array.from({ length: 5 }, (_, i) => send(`/list${i}`, 'ada')));
  await ran(6);
  await waiting(limits, 19);
  sent.push(send('/lease', 'bob'), send('/get', 'manager'));
  await ran(8);
  expect((['system', 'users', 'bulk'] as const).map((level) => limits.runningOf(level))).toEqual([2, 6, 0]);
  endAll();
  for (const answer of sent) expect((await answer).status).toBe(200);
});

test('no header and no path lifts a client that is not known to be of the system', async () => {
  const { server, send, know, ran, refused, limits, endAll } = await start({ ...shares, maxWaitMs: 5 });
  await know('ada');
  const sent = Array.from({ length: 6 }, (_, i) => send(`/get${i}`, 'ada'));
  await ran(6);
  const headers = { 'x-groups': 'controllers' };
  // Anonymous, and with a credential whose owner was not of the system the last time.
  expect((await server.send({ path: '/lease', headers })).status).toBe(429);
  expect((await server.send({ path: '/get', headers: { ...headers, authorization: 'Bearer ada' } })).status).toBe(429);
  expect([refused, limits.runningOf('system')]).toEqual([['total', 'total'], 0]);
  endAll();
  for (const answer of sent) expect((await answer).status).toBe(200);
});

test('one user of leases leaves slots to others, and takes none from the system', async () => {
  const { send, know, ran, refused, endAll } = await start({ ...shares, total: 32, reserved: 8, maxWaitMs: 5 });
  for (const user of ['hostile', 'leader']) await know(user);
  const sent = ['/lease1', '/lease2'].map((path) => send(path, 'hostile'));
  await ran(2);
  expect([(await send('/lease3', 'hostile')).status, refused]).toEqual([429, ['user_system']]);
  sent.push(send('/lease', 'leader'));
  await ran(3);
  endAll();
  for (const answer of sent) expect((await answer).status).toBe(200);
});

test('bulk of one user leaves a quarter to others; beyond its share it is refused, and small requests are served', async () => {
  const { send, know, ran, refused, limits, endAll } = await start({ ...shares, total: 32, bulk: 4, maxWaitMs: 5 });
  await know('hostile');
  const sent = [0, 1, 2].map((i) => send(`/list${i}`, 'hostile'));
  await ran(3);
  expect((await send('/list3', 'hostile')).status).toBe(429);
  await know('ada');
  sent.push(send('/list', 'ada'));
  await ran(4);
  expect((await send('/list4', 'ada')).status).toBe(429);
  expect((await send('/body', 'ada', { body: 'x'.repeat(100_000) })).status).toBe(429);
  expect([refused, limits.runningOf('bulk')]).toEqual([['user_bulk', 'user_bulk', 'user_bulk'], 4]);
  sent.push(send('/get', 'ada'), send('/small', 'ada', { body: 'x' }));
  await ran(6);
  endAll();
  for (const answer of sent) expect((await answer).status).toBe(200);
});

test('a user has a quarter of its limits while others ask, too', async () => {
  const { send, know, ran, refused, endAll } = await start({ ...shares, total: 32, perUser: 8, maxWaitMs: 5 });
  for (const user of ['ada', 'hostile']) await know(user);
  const sent = [send('/get1', 'hostile'), send('/get2', 'hostile')];
  await ran(2);
  expect((await send('/get3', 'hostile')).status).toBe(429);
  sent.push(send('/get4', 'ada'), send('/get5', 'ada'));
  await ran(4);
  expect([(await send('/get6', 'ada')).status, refused]).toEqual([429, ['user', 'user']]);
  endAll();
  for (const answer of sent) expect((await answer).status).toBe(200);
});

test('bulk of anonymous clients is a quarter of bulk', async () => {
  const { server, ran, refused, endAll } = await start({ ...shares, total: 32, bulk: 4, maxWaitMs: 5 });
  const held = server.send({ path: '/list' });
  await ran(1);
  expect([(await server.send({ path: '/list2' })).status, refused]).toEqual([429, ['strangers']]);
  endAll();
  expect((await held).status).toBe(200);
});

test('clients that leave while they wait leave nothing behind', async () => {
  const { server, send, know, ran, limits, endAll } = await start({ total: 1, perUser: 8, bulk: 1, maxWaitMs: 20_000 });
  for (const user of ['ada', 'bob']) await know(user);
  const held = send('/get', 'ada');
  await ran(1);
  const paths = ['/get', '/list', '/lease'];
  const gone = await Promise.all(paths.map(() => server.open()));
  for (const [i, socket] of gone.entries())
    socket
      .on('error', () => undefined)
      .write(`GET ${paths[i]} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer bob\r\n\r\n`);
  await waiting(limits, 3);
  for (const socket of gone) socket.destroy();
  while (limits.waiting > 0) await new Promise(setImmediate);
  endAll();
  expect((await held).status).toBe(200);
  expect([(await send('/after', 'bob')).status, limits.running, limits.waiting]).toEqual([200, 0, 0]);
});
