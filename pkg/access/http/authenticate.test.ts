import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { TrustedProxies, type RequestContext } from '#pkg/http/index';
import type { Principal } from './caller.ts';
import { AccessRequest } from './access-request.ts';
import { newAuthenticationFailed } from './access-error.ts';
import { authenticate, valueOfScheme } from './authenticate.ts';
import type { Credential } from './credential.ts';

function requestWith(headers: [string, string][], url = '/'): AccessRequest {
  const request = {
    method: 'GET',
    url,
    rawHeaders: headers.flat(),
    headers: Object.fromEntries(headers.toReversed().map(([name, value]) => [name.toLowerCase(), value])),
    socket: { remoteAddress: '192.0.2.1' },
  };
  return new AccessRequest(
    { request: request as unknown as IncomingMessage } as RequestContext,
    new TrustedProxies([]),
  );
}

const ofWord = (scheme: 'token' | 'bearer', name: Credential['scheme']): Credential => ({
  scheme: name,
  authorizationScheme: scheme,
  authenticate: async (request) => {
    const value = valueOfScheme(request, scheme);
    if (value === undefined) return undefined;
    if (value === 'wrong') throw newAuthenticationFailed();
    return { userId: value, credentialId: `TEST=${value}` };
  },
});
const ofCookie: Credential = {
  scheme: 'session',
  authenticate: async (request) => {
    const value = request.cookies.get('svc_sessionid');
    return value === undefined || value === 'stale'
      ? undefined
      : { userId: value, credentialId: `TEST=${value}`, session: { id: 's', isCsrfToken: () => true } };
  },
};
const parts = {
  credentials: [ofWord('token', 'private_token'), ofWord('bearer', 'bearer'), ofCookie],
  principals: {
    find: async (id: string): Promise<Principal | undefined> =>
      id === 'disabled' ? undefined : { id, username: id, groups: [], systemRoles: new Set(), orgRoles: new Map() },
  },
};
const ask = async (...headers: [string, string][]): Promise<unknown> => {
  try {
    const caller = await authenticate(requestWith(headers), parts);
    return caller === undefined ? 'nobody' : `${caller.id} by ${caller.scheme}`;
  } catch (error) {
    return (error as { body: { code: string } }).body.code;
  }
};

describe('authentication', () => {
  const cases: { reason: string; headers: [string, string][]; answer: string }[] = [
    { reason: 'no credential', headers: [], answer: 'nobody' },
    { reason: 'a token', headers: [['Authorization', 'Token ada']], answer: 'ada by private_token' },
    {
      reason: 'the scheme in any case, with spaces around the value',
      headers: [['Authorization', '  bEARER   ada ']],
      answer: 'ada by bearer',
    },
    { reason: 'a session', headers: [['Cookie', 'a=b; svc_sessionid="ada"']], answer: 'ada by session' },
    {
      reason: 'the header takes precedence over the cookie if both name one user',
      headers: [
        ['Authorization', 'Bearer ada'],
        ['Cookie', 'svc_sessionid=ada'],
      ],
      answer: 'ada by bearer',
    },
    {
      reason: 'credentials of two users are refused',
      headers: [
        ['Authorization', 'Bearer ada'],
        ['Cookie', 'svc_sessionid=bob'],
      ],
      answer: 'authentication_failed',
    },
    { reason: 'a stale cookie is ignored', headers: [['Cookie', 'svc_sessionid=stale']], answer: 'nobody' },
    {
      reason: 'a stale cookie beside another credential is ignored',
      headers: [
        ['Authorization', 'Bearer ada'],
        ['Cookie', 'svc_sessionid=stale'],
      ],
      answer: 'ada by bearer',
    },
    { reason: 'a wrong value', headers: [['Authorization', 'Token wrong']], answer: 'authentication_failed' },
    {
      reason: 'a wrong value beside a good cookie',
      headers: [
        ['Authorization', 'Token wrong'],
        ['Cookie', 'svc_sessionid=ada'],
      ],
      answer: 'authentication_failed',
    },
    {
      reason: 'a known scheme in an unsupported form',
      headers: [['Authorization', 'Signature\tx']],
      answer: 'authentication_failed',
    },
    {
      reason: 'an unsupported form beside a good cookie',
      headers: [
        ['Authorization', 'Signature\tx'],
        ['Cookie', 'svc_sessionid=ada'],
      ],
      answer: 'authentication_failed',
    },
    { reason: 'no value', headers: [['Authorization', 'Bearer']], answer: 'authentication_failed' },
    { reason: 'two values', headers: [['Authorization', 'Bearer a b']], answer: 'authentication_failed' },
    {
      reason: 'a value that is too long',
      headers: [['Authorization', `Bearer ${'a'.repeat(513)}`]],
      answer: 'authentication_failed',
    },
    {
      reason: 'the header twice',
      headers: [
        ['Authorization', 'Bearer ada'],
        ['authorization', 'Bearer ada'],
      ],
      answer: 'authentication_failed',
    },
    { reason: 'another scheme', headers: [['Authorization', 'Basic YTpi']], answer: 'not_authenticated' },
    {
      reason: 'another scheme beside a good cookie',
      headers: [
        ['Authorization', 'Basic YTpi'],
        ['Cookie', 'svc_sessionid=ada'],
      ],
      answer: 'not_authenticated',
    },
    {
      reason: 'a token in another header',
      headers: [
        ['X-Token', 'ada'],
        ['X-Authorization', 'Bearer ada'],
      ],
      answer: 'nobody',
    },
    { reason: 'an empty header', headers: [['Authorization', '']], answer: 'not_authenticated' },
    {
      reason: 'a token of a disabled user',
      headers: [['Authorization', 'Bearer disabled']],
      answer: 'authentication_failed',
    },
    { reason: 'a session of a disabled user', headers: [['Cookie', 'svc_sessionid=disabled']], answer: 'nobody' },
  ];
  test.each(cases)('$reason: $answer', async ({ headers, answer }) => {
    expect(await ask(...headers)).toBe(answer);
  });
});

test('a token in the URL, which logs and histories keep, is ignored', async () => {
  expect(
    await authenticate(requestWith([], '/api/v1/users/profile/?token=ada&access_token=ada&svc_sessionid=ada'), parts),
  ).toBeUndefined();
});
