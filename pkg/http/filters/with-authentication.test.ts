import { afterEach, describe, expect, test } from '@jest/globals';
import type { Attributes, UserInfo } from '#pkg/identity/index';
import { BearerAuthenticator } from '../request/bearer-authenticator.ts';
import type { Filter, Handler } from '../request/request-context.ts';
import { sendJson } from '../answer/respond.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { withAuthentication } from './with-authentication.ts';
import { withAuthorization } from './with-authorization.ts';
import { withRequestId } from './with-request-id.ts';
import { withStatus } from './with-status.ts';

let started: TestHttpServer[] = [];

afterEach(async () => {
  await Promise.all(started.map(({ server }) => server.close({ drainTimeoutMs: 0 })));
  started = [];
});

const ok: Handler = (context) => sendJson(context, 200, '{"ok":true}');
const whoami: Handler = (context) => sendJson(context, 200, JSON.stringify(context.user.name));
const posts = '/apis/g.io/v1/posts';

/** Starts a server with the given filters inside `withStatus`. */
async function start(filters: readonly Filter[], handler: Handler = ok): Promise<TestHttpServer> {
  const server = await startTestServer(handler, { filters: () => [withRequestId(), withStatus(), ...filters] });
  started.push(server);
  return server;
}

describe('authentication', () => {
  const ada: UserInfo = { name: 'ada', uid: '1', groups: [] };
  const bearer = new BearerAuthenticator({ authenticateToken: async (token) => (token === 'good' ? ada : undefined) });
  const filter = withAuthentication(bearer, { isOpen: ({ path }) => path === '/livez' });

  test.each([
    ['Bearer good', 200],
    ['bearer good', 200],
    ['BEARER  good', 200],
    ['Bearer bad', 401],
    ['Bearer', 401],
    ['Bearer ', 401],
    ['Bearer good good', 401],
    ['Bearer good,good', 401],
    ['Bearer\tgood', 401],
    [`Bearer ${'a'.repeat(9000)}`, 401],
    ['Basic YTpi', 401],
    ['good', 401],
    ['', 401],
    [undefined, 401],
  ])('%.40s is %i', async (authorization, expected) => {
    const { send } = await start([filter], whoami);
    const { status, headers } = await send({
      path: posts,
      headers: authorization === undefined ? {} : { authorization },
    });
    expect(status).toBe(expected);
    expect(headers['www-authenticate']).toBe(expected === 401 ? 'Bearer realm="svc"' : undefined);
  });

  test('a public path needs no credential, but refuses a wrong one', async () => {
    const { send } = await start([filter], whoami);
    expect((await send({ path: '/livez' })).body.toString()).toBe('"system:anonymous"');
    expect((await send({ path: '/livez', headers: { authorization: 'Bearer good' } })).body.toString()).toBe('"ada"');
    expect((await send({ path: '/livez', headers: { authorization: 'Bearer bad' } })).status).toBe(401);
  });
});

describe('withAuthorization', () => {
  const seen: Attributes[] = [];
  const filter = withAuthorization(
    {
      authorize: async (attributes) => {
        seen.push(attributes);
        return { allowed: attributes.verb === 'get' && attributes.name === 'mine', reason: '' };
      },
    },
    { isOpen: ({ path }) => path === '/livez' },
  );

  test.each([
    [
      'GET',
      posts,
      'posts.g.io is forbidden: User "system:anonymous" cannot list resource "posts" in API group "g.io" at the cluster scope',
    ],
    [
      'GET',
      `/apis/g.io/v1/namespaces/n/posts/x`,
      'posts.g.io "x" is forbidden: User "system:anonymous" cannot get resource "posts" in API group "g.io" in the namespace "n"',
    ],
    [
      'PUT',
      `${posts}/x/status`,
      'posts.g.io "x" is forbidden: User "system:anonymous" cannot update resource "posts/status" in API group "g.io" at the cluster scope',
    ],
    [
      'DELETE',
      '/api/v1/events',
      'events is forbidden: User "system:anonymous" cannot deletecollection resource "events" in API group "" at the cluster scope',
    ],
    ['GET', '/metrics', 'forbidden: User "system:anonymous" cannot get path "/metrics"'],
  ])('%s %s', async (method, path, message) => {
    const { send } = await start([filter]);
    const { status, body } = await send({ method, path });
    expect([status, (JSON.parse(body.toString()) as { message: string }).message]).toEqual([403, message]);
  });

  test('admits allowed requests and public paths', async () => {
    const { send } = await start([filter]);
    expect((await send({ path: `${posts}/mine` })).status).toBe(200);
    expect(seen.at(-1)).toMatchObject({
      group: 'g.io',
      version: 'v1',
      resource: 'posts',
      name: 'mine',
      isResourceRequest: true,
    });
    expect((await send({ path: '/livez' })).status).toBe(200);
  });
});
