import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { TrustedProxies, type RequestContext } from '#pkg/http/index';
import { newPersonalToken, type UserInfo } from '#pkg/identity/index';
import { AccessRequest } from '../http/access-request.ts';
import { authenticate } from '../http/authenticate.ts';
import type { Credential } from '../http/credential.ts';
import { metricsCredentials } from './metrics-credentials.ts';

const [whole, forMonitoring, forReading, unknown] = [
  newPersonalToken(),
  newPersonalToken(),
  newPersonalToken(),
  newPersonalToken(),
];
const ada: UserInfo = { name: 'ada', uid: 'ada', groups: [] };
const owners = new Map<string, UserInfo>([
  [whole, ada],
  [forMonitoring, { ...ada, restriction: { roles: ['view', 'system:monitoring'] } }],
  [forReading, { ...ada, restriction: { roles: ['view'] } }],
]);
const ofLogin: Credential = {
  scheme: 'bearer',
  authorizationScheme: 'bearer',
  authenticate: async () => ({ userId: 'by login', credentialId: 'TEST=login' }),
};
const ofSession: Credential = {
  scheme: 'session',
  authenticate: async (request) =>
    request.cookies.get('id') === undefined ? undefined : { userId: 'mia', credentialId: 'TEST=session' },
};
const parts = {
  credentials: metricsCredentials([ofLogin, ofSession], { authenticateToken: async (token) => owners.get(token) }),
  principals: {
    find: async (id: string) => ({ id, username: id, groups: [], systemRoles: new Set<never>(), orgRoles: new Map() }),
  },
};

test.each([
  { reason: 'a personal token authenticates its owner', headers: { authorization: `Bearer ${whole}` }, is: 'ada' },
  {
    reason: 'a token limited to watching is accepted too',
    headers: { authorization: `Bearer ${forMonitoring}` },
    is: 'ada',
  },
  {
    reason: 'a token limited to something else is refused',
    headers: { authorization: `Bearer ${forReading}` },
    is: 'permission_denied',
  },
  {
    reason: 'an unknown token is refused',
    headers: { authorization: `Bearer ${unknown}` },
    is: 'authentication_failed',
  },
  {
    reason: 'another text is left to the login',
    headers: { authorization: 'Bearer abc' },
    is: 'by login',
  },
  {
    reason: "a token beside another user's session is refused",
    headers: { authorization: `Bearer ${whole}`, cookie: 'id=1' },
    is: 'authentication_failed',
  },
])('$reason', async ({ headers, is }) => {
  const request = {
    method: 'GET',
    url: '/metrics',
    rawHeaders: Object.entries(headers).flat(),
    headers,
    socket: { remoteAddress: '192.0.2.1' },
  };
  const asked = authenticate(
    new AccessRequest({ request: request as unknown as IncomingMessage } as RequestContext, new TrustedProxies([])),
    parts,
  );
  expect(
    await asked.then(
      (caller) => caller?.id,
      (error: { body: { code: string } }) => error.body.code,
    ),
  ).toBe(is);
});
