import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import express, { type Request, type Response } from 'express';
import { Registry } from 'prom-client';
import { newConflict } from '#pkg/apimachinery/index';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { TrustedProxies } from '../connection/client-address.ts';
import { findEndpointGroup, isOpenEndpoint, type EndpointGroup } from './endpoint-group.ts';
import { contextOf, expressHandler } from './express-handler.ts';
import { InFlightLimits } from '../filters/limits/in-flight-limits.ts';
import { withAuthentication } from '../filters/with-authentication.ts';
import { withRequestId } from '../filters/with-request-id.ts';
import { withStatus } from '../filters/with-status.ts';
import { healthEndpoints, NotReadyError, type HealthCheck } from './health.ts';
import { parseRequestInfo } from '../request/parse-request-info.ts';
import type { RequestContext } from '../request/request-context.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';

const prefix = '/apis/api.blog.example.com/v1';

function blog(): EndpointGroup {
  const router = express.Router();
  router.get('/posts/:name', (request: Request, response: Response) => {
    response.json({ name: request.params['name'], id: contextOf(request).id });
  });
  router.get(String.raw`/sums/1\+1;a=b,c:d@e&f$/:name`, (request: Request, response: Response) => {
    response.json({ name: request.params['name'] });
  });
  router.post('/posts', express.json({ limit: 10 }), (request: Request, response: Response) => {
    response.json(request.body);
  });
  router.get('/conflict', async () => {
    throw newConflict({ group: 'g', resource: 'posts' }, 'x', 'because');
  });
  router.get('/bug', async () => {
    throw new Error('secret');
  });
  return { prefix, router, isOpen: true };
}

let server: TestHttpServer;
let groups: Set<EndpointGroup>;
let broken = false;
let full = false;

beforeEach(async () => {
  broken = false;
  full = false;
  const readyz = [
    { name: 'database', check: async () => (broken ? Promise.reject(new Error('password=1')) : undefined) },
    { name: 'log', check: async () => (full ? Promise.reject(new NotReadyError('the disk is full')) : undefined) },
  ];
  groups = new Set([blog(), ...healthEndpoints({ readyz, svcVersion: '2.22.0', registry: new Registry() })]);
  const nobody = { authenticateRequest: async () => undefined };
  server = await startTestServer(expressHandler(groups), {
    filters: () => [withRequestId(), withStatus(), withAuthentication(nobody, { isOpen: isOpenEndpoint(groups) })],
  });
});

afterEach(() => server.server.close({ drainTimeoutMs: 0 }));

async function get(path: string, method = 'GET'): Promise<[number, string]> {
  const { status, body } = await server.send({ path, method });
  return [status, body.toString()];
}

async function post(body: string): Promise<number> {
  const { status } = await server.send({
    method: 'POST',
    path: `${prefix}/posts`,
    body,
    headers: { 'content-type': 'application/json' },
  });
  return status;
}

describe('endpoint groups', () => {
  test('serve their paths, with access to the context', async () => {
    const { status, headers, body } = await server.send({ path: `${prefix}/posts/a` });
    expect([status, JSON.parse(body.toString())]).toEqual([200, { name: 'a', id: headers['x-request-id'] }]);
    expect(headers['x-powered-by']).toBeUndefined();
  });

  test.each([
    [`${prefix}/p%6Fsts/a`, 200, 'the path that was judged is the path that is routed'],
    [`${prefix}/posts/a%3Fb`, 200, 'an encoded question mark stays in its segment'],
    [`${prefix}/sums/1+1;a=b,c:d@e&f$/a`, 200, 'what a path may hold as it is'],
    [`${prefix}/sums/1%2b1%3Ba%3Db%2Cc%3Ad%40e%26f%24/a%20b`, 200, 'the same, encoded'],
    [`${prefix}/none`, 404, 'passed on by the router'],
    [`${prefix}/conflict`, 409, 'a StatusError'],
    [`${prefix}/bug`, 500, 'a bug'],
    [`${prefix}x/posts/a`, 401, 'a longer segment is another path'],
    [`${prefix.toUpperCase()}/posts/a`, 401, 'letter case'],
    ['/LIVEZ', 401, 'letter case of a short path'],
    ['/metrics', 401, 'a group that is not open'],
  ])('%s is %i (%s)', async (path, status) => {
    const answer = await server.send({ path });
    expect(answer.status).toBe(status);
    expect(answer.body.toString()).not.toContain('secret');
  });

  test.each([
    ['a%3Fb', 'a?b'],
    ['a%23b', 'a#b'],
    ['%25', '%'],
    ['a%20%C3%A4', 'a ä'],
    ['a%2Bb', 'a+b'],
  ])('the parameter of %s is %s', async (segment, name) => {
    expect(JSON.parse((await get(`${prefix}/posts/${segment}`))[1])).toMatchObject({ name });
  });

  test('errors of express middlewares keep their status', async () => {
    expect(await post('{"a":1}')).toBe(200);
    expect(await post('{"a"')).toBe(400);
    expect(await post('{"a":"123456789"}')).toBe(413);
  });

  test('a router that never answers ends with its client', async () => {
    const [group] = groups;
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    group!.router.get('/silent', () => begin());
    const socket = await server.open();
    socket.write(`GET ${prefix}/silent HTTP/1.1\r\nHost: h\r\n\r\n`);
    await begun;
    socket.destroy();
    const before = performance.now();
    await server.server.close({ drainTimeoutMs: 20_000 });
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  test('end the request of a broken connection, and never start those behind it', async () => {
    const [group] = groups;
    group!.router.get('/silent', () => undefined);
    const limits = new InFlightLimits({
      total: 12,
      maxWaitMs: 0,
      exemption: ({ path }) => (path === '/livez' ? 'metrics' : undefined),
    });
    const serve = expressHandler(groups);
    let settled = 0;
    const counted = async (context: RequestContext): Promise<void> => {
      await serve(context);
      settled += 1;
    };
    const limited = await startTestServer(counted, {
      filters: () => [withRequestId(), withStatus(), limits.beforeAuthentication, limits.afterAuthentication],
    });
    const ask = async (path: string): Promise<number> => (await limited.send({ path })).status;
    // More requests than slots of either kind.
    for (let i = 0; i < 30; i += 1) {
      const socket = await limited.open();
      const silent = `GET ${prefix}/silent HTTP/1.1\r\nHost: h\r\n\r\n`;
      socket.write(
        silent +
          ['/livez', '/livez', '/livez', '/version', '/version']
            .map((path) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`)
            .join(''),
      );
      await pollUntil(() => limits.running === 1 && settled === i);
      socket.resetAndDestroy();
      await pollUntil(() => limits.running === 0 && settled === i + 1);
    }
    expect([await ask('/livez'), await ask('/version')]).toEqual([200, 200]);
    const before = performance.now();
    await limited.server.close({ drainTimeoutMs: 20_000 });
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  test('unread answers hold no slot that others need', async () => {
    const [group] = groups;
    let answered = 0;
    group!.router.get('/page', (_request, response) => {
      response.send(Buffer.alloc(16 * 1024 * 1024));
      answered += 1;
    });
    const limits = new InFlightLimits({ total: 8, perUser: 8, maxWaitMs: 0 });
    const limited = await startTestServer(expressHandler(groups), {
      proxies: new TrustedProxies(['127.0.0.1']),
      filters: () => [withRequestId(), withStatus(), limits.beforeAuthentication, limits.afterAuthentication],
    });
    const sockets = await Promise.all([1, 2].map(() => limited.open()));
    for (const [i, socket] of sockets.entries()) {
      socket.pause().on('error', () => undefined);
      socket.write(`GET ${prefix}/page HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 192.0.2.${i}\r\n\r\n`);
      await pollUntil(() => answered > i);
    }
    expect(
      (await limited.send({ path: `${prefix}/posts/a`, headers: { 'x-forwarded-for': '198.51.100.1' } })).status,
    ).toBe(200);
    for (const socket of sockets) socket.destroy();
    await limited.server.close({ drainTimeoutMs: 1000 });
  });

  test('can be added and removed while the server runs; the longest prefix wins', async () => {
    const [group] = groups;
    const inner: EndpointGroup = { prefix: `${prefix}/posts`, router: express.Router() };
    expect(findEndpointGroup([group!, inner], `${prefix}/posts/a`)).toBe(inner);
    groups.delete(group!);
    expect((await get(`${prefix}/posts/a`))[0]).toBe(401);
    expect(isOpenEndpoint(groups)(parseRequestInfo('GET', `${prefix}/posts/a`, new URLSearchParams()))).toBe(false);
    groups.add(group!);
    expect((await get(`${prefix}/posts/a`))[0]).toBe(200);
  });
});

describe('health', () => {
  test('names the failed check, not the reason', async () => {
    expect(await get('/readyz')).toEqual([200, 'ok']);
    expect(await get('/readyz?verbose')).toEqual([200, '[+]database ok\n[+]log ok\nreadyz check passed\n']);
    broken = true;
    expect(await get('/readyz')).toEqual([
      503,
      '[-]database failed: reason withheld\n[+]log ok\nreadyz check failed\n',
    ]);
    expect(await get('/healthz')).toEqual([
      503,
      '[-]database failed: reason withheld\n[+]log ok\nhealthz check failed\n',
    ]);
    expect(await get('/livez')).toEqual([200, 'ok']);
    expect(await get('/livez', 'HEAD')).toEqual([200, '']);
  });

  test('shows checks that do not decide only on request', async () => {
    const informative = (name: string, check: () => Promise<string | void>): HealthCheck => ({
      name,
      check,
      isInformative: true,
    });
    const readyz = [
      informative('controller a', async () => 'stands by'),
      informative('controller b', async () => undefined),
      informative('controller c', () => Promise.reject(new Error('password=1'))),
    ];
    groups.clear();
    for (const group of healthEndpoints({
      readyz: [{ name: 'database', check: async () => undefined }, ...readyz],
      svcVersion: '2.22.0',
      registry: new Registry(),
    }))
      groups.add(group);
    expect(await get('/readyz')).toEqual([200, 'ok']);
    const shown =
      '[+]database ok\n[+]controller a stands by\n[+]controller b ok\n[!]controller c failed, which does not count: reason withheld\nreadyz check passed\n';
    expect(await get('/readyz?verbose')).toEqual([200, shown]);
  });

  test('excludes only the requested checks from the result', async () => {
    full = true;
    expect(await get('/readyz')).toEqual([
      503,
      '[+]database ok\n[-]log failed: the disk is full\nreadyz check failed\n',
    ]);
    expect(await get('/readyz?exclude=log')).toEqual([200, 'ok']);
    expect(await get('/readyz?verbose&exclude=log&exclude=nothing')).toEqual([
      200,
      '[+]database ok\n[+]log excluded: ok\nreadyz check passed\n',
    ]);
    broken = true;
    expect(await get('/readyz?exclude=log')).toEqual([
      503,
      '[-]database failed: reason withheld\n[+]log excluded: ok\nreadyz check failed\n',
    ]);
    expect((await get('/readyz?exclude=log&exclude=database'))[0]).toBe(200);
  });

  test('logs the reason of a failed check once, and again for another reason', async () => {
    full = true;
    for (let i = 0; i < 3; i += 1) await get('/readyz');
    broken = true;
    for (let i = 0; i < 3; i += 1) await get('/readyz');
    full = false;
    await get('/readyz');
    full = true;
    await get('/readyz');
    const told = server.logs.map(({ msg, check, err }) => ({
      msg,
      check,
      hasStack: typeof (err as { stack?: unknown } | undefined)?.stack === 'string',
    }));
    const log = { msg: 'health check failed: the disk is full', check: 'log', hasStack: false };
    expect(told).toEqual([log, { msg: 'health check failed: password=1', check: 'database', hasStack: true }, log]);
  });

  test('names the allowed methods', async () => {
    const { status, headers } = await server.send({ path: '/livez', method: 'POST' });
    expect([status, headers['allow']]).toEqual([405, 'GET, HEAD']);
  });

  test('distinguishes builds, and a changed one from its commit', async () => {
    const gitCommit = '1ebebde0a1b2c3d4e5f60718293a4b5c6d7e8f90';
    groups.clear();
    for (const group of healthEndpoints({
      readyz: [],
      svcVersion: '2.22.0+1ebebde0a1b2.dirty',
      gitCommit,
      registry: new Registry(),
    }))
      groups.add(group);
    const [, body] = await get('/version');
    expect(JSON.parse(body)).toMatchObject({
      gitVersion: 'v1.33.0',
      gitCommit,
      gitTreeState: 'dirty',
      svcVersion: '2.22.0+1ebebde0a1b2.dirty',
    });
  });

  test('reports both versions', async () => {
    const [, body] = await get('/version');
    expect(JSON.parse(body)).toMatchObject({
      major: '1',
      minor: '33',
      gitVersion: 'v1.33.0',
      gitCommit: '',
      gitTreeState: 'clean',
      svcVersion: '2.22.0',
    });
  });
});
