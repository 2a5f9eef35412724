import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { newUnauthorized } from '#pkg/apimachinery/index';
import { TrustedProxies } from '#pkg/http/index';
import type { RequestAuthenticator, UserInfo } from '#pkg/identity/index';
import { platformAuthenticator } from './platform-authenticator.ts';

const user = (name: string): UserInfo => ({ name, uid: '', groups: [] });
const tokens = {
  authenticateToken: async (token: string, addressOf: () => string = () => '') =>
    token === 'good' ? user(`token from ${addressOf()}`) : undefined,
};
const basic: RequestAuthenticator = {
  authenticateRequest: async ({ headers }) => {
    if (headers.authorization?.startsWith('Basic') !== true) return undefined;
    if (headers.authorization === 'Basic good') return user('basic');
    throw newUnauthorized();
  },
};
const sessions: RequestAuthenticator = {
  authenticateRequest: async ({ headers }) => (headers.cookie === undefined ? undefined : user('session')),
};
const proxies = new TrustedProxies(['127.0.0.1']);
const all = platformAuthenticator({ tokens, proxies, basic, sessions });
const least = platformAuthenticator({ tokens, proxies });

const ask = async (
  authenticator: RequestAuthenticator,
  headers: Record<string, string>,
): Promise<string | number | undefined> => {
  const request = {
    headers: { 'x-forwarded-for': '10.1.1.1', ...headers },
    socket: { remoteAddress: '127.0.0.1' },
  } as unknown as IncomingMessage;
  try {
    return (await authenticator.authenticateRequest(request))?.name;
  } catch (error) {
    return (error as { code: number }).code;
  }
};

test.each<[string, Record<string, string>, string | number | undefined, string | number | undefined]>([
  ['no credential', {}, undefined, undefined],
  ['a token', { authorization: 'Bearer good' }, 'token from 10.1.1.1', 'token from 10.1.1.1'],
  ['a wrong token', { authorization: 'Bearer bad' }, 401, 401],
  ['a password, while Basic is off', { authorization: 'Basic good' }, 'basic', 401],
  ['a wrong password', { authorization: 'Basic bad' }, 401, 401],
  ['another scheme', { authorization: 'Token good' }, 401, 401],
  ['an empty header', { authorization: '' }, 401, 401],
  ['a session', { cookie: 'x' }, 'session', undefined],
  [
    'a header and a session: the header',
    { authorization: 'Bearer good', cookie: 'x' },
    'token from 10.1.1.1',
    'token from 10.1.1.1',
  ],
  ['a wrong header and a session: 401', { authorization: 'Basic bad', cookie: 'x' }, 401, 401],
])('%s', async (_reason, headers, withAll, withLeast) => {
  expect(await ask(all, headers)).toBe(withAll);
  expect(await ask(least, headers)).toBe(withLeast);
});
