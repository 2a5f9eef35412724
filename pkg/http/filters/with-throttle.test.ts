import { afterEach, expect, test } from '@jest/globals';
import { systemMasters, type UserInfo } from '#pkg/identity/index';
import { sendJson } from '../answer/respond.ts';
import { BearerAuthenticator } from '../request/bearer-authenticator.ts';
import { startTestServer, type TestHttpServer } from '../server/start-test-server.ts';
import { withAuthentication } from './with-authentication.ts';
import { withImpersonation } from './with-impersonation.ts';
import { withRequestId } from './with-request-id.ts';
import { withStatus } from './with-status.ts';
import { withThrottle } from './with-throttle.ts';

let server: TestHttpServer | undefined;
afterEach(() => server?.server.close({ drainTimeoutMs: 0 }));

const users: Readonly<Record<string, UserInfo>> = {
  ada: { name: 'ada', uid: '1', groups: [] },
  eve: { name: 'eve', uid: '2', groups: [] },
  root: { name: 'root', uid: '3', groups: [systemMasters] },
  host: { name: 'system:plugin-host', uid: '', groups: [] },
};

test('beyond its limit a user gets 429 with Retry-After; administrators and processes of the platform pass', async () => {
  const taken: string[] = [];
  const throttle = {
    take: async (key: string) => (taken.push(key) > 2 ? 17 : undefined),
  };
  const authenticator = new BearerAuthenticator({ authenticateToken: async (token) => users[token] });
  const everything = { authorize: async () => ({ allowed: true, reason: '' }) };
  server = await startTestServer((context) => sendJson(context, 200, '{}'), {
    filters: () => [
      withRequestId(),
      withStatus(),
      withAuthentication(authenticator, { isOpen: () => false }),
      withThrottle(throttle),
      withImpersonation(everything),
    ],
  });
  const send = (token: string, headers: Record<string, string> = {}): ReturnType<TestHttpServer['send']> =>
    server!.send({ path: '/apis/g.io/v1/posts', headers: { authorization: `Bearer ${token}`, ...headers } });
  for (const token of ['root', 'host', 'ada']) expect((await send(token)).status).toBe(200);
  expect((await send('ada', { 'impersonate-user': 'eve' })).status).toBe(200);
  const refused = await send('eve');
  expect(refused).toMatchObject({ status: 429, headers: { 'retry-after': '17' } });
  expect(JSON.parse(refused.body.toString())).toMatchObject({
    reason: 'TooManyRequests',
    details: { retryAfterSeconds: 17 },
  });
  expect(taken).toEqual(['user:1', 'user:1', 'user:2']);
});
