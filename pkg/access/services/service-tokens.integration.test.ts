import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newPersonalToken, type UserInfo } from '#pkg/identity/index';
import { LoginAccounts } from '../login/login-accounts.ts';
import type { Service } from '../principals/service-user.ts';
import { PersonalTokenAuthenticator } from '../tokens/personal-token-authenticator.ts';
import { PersonalTokens } from '../tokens/personal-tokens.ts';
import { TokenStore } from '../tokens/token-store.ts';
import { startTestUsers, type TestUsers } from '../users/start-test-users.ts';
import { ServiceTokens } from './service-tokens.ts';

const username = 'system:controller-manager';
let tests: TestUsers;
let tokens: ServiceTokens;
let authenticator: PersonalTokenAuthenticator;
let admin: string;

beforeAll(async () => {
  tests = await startTestUsers();
  const { access, database, audit } = tests.server;
  tokens = new ServiceTokens({ database: access, audit });
  authenticator = new PersonalTokenAuthenticator(new TokenStore(database), {
    noteUse: () => {},
    noteFailure: () => {},
  });
});
beforeEach(async () => {
  await tests.server.access.pool.query('TRUNCATE access.users, access.username_skeletons, access.operate_logs CASCADE');
  admin = await tests.server.addUser({ username: 'admin', systemRoles: ['SystemAdmin'] });
});
afterAll(() => tests.server.stop());

const who = (token: string): Promise<UserInfo | undefined> => authenticator.authenticateToken(token);
async function added(service: Service = 'controller-manager'): Promise<string> {
  const token = newPersonalToken();
  expect(await tokens.add(service, token)).toBe(true);
  return token;
}
async function audited(): Promise<string[]> {
  const { rows } = await tests.server.access.pool.query<{ line: string }>(
    "SELECT action || ' ' || resource_type || ' ' || regexp_replace(resource, '-[0-9a-f]{8}$', '') || ' ' || detail AS line FROM access.operate_logs ORDER BY id",
  );
  return rows.map(({ line }) => line);
}
const idOf = async (name = username): Promise<string> =>
  (await tests.server.access.pool.query<{ id: string }>('SELECT id FROM access.users WHERE username = $1', [name]))
    .rows[0]!.id;

describe('a token of a service', () => {
  test.each<[Service, string, string]>([
    ['controller-manager', username, 'system:controllers'],
    ['access-server', 'system:access-server', 'system:access-servers'],
  ])('of %s is the user %s of the group %s, and nobody else', async (service, name, group) => {
    const token = await added(service);
    expect(await who(token)).toEqual({
      name,
      uid: await idOf(name),
      groups: [group, 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^PAT=/)] },
    });
    expect(await tokens.add(service, token)).toBe(false);
    expect(await audited()).toEqual([
      `create user ${name} of a service`,
      `create personal_token ${service} of ${name}`,
    ]);
    const { rows } = await tests.server.access.pool.query('SELECT * FROM access.personal_tokens');
    expect(JSON.stringify(rows)).not.toContain(token);
  });

  test('may be one of several, until the others are revoked', async () => {
    const [first, second, elsewhere] = [await added(), await added(), await added('access-server')];
    expect((await who(first))?.name).toBe(username);
    expect(await tokens.revokeOthers('controller-manager', second)).toBe(1);
    expect([await who(first), (await who(second))?.name, (await who(elsewhere))?.name]).toEqual([
      undefined,
      username,
      'system:access-server',
    ]);
    expect((await audited()).slice(-1)).toEqual([`revoke personal_token controller-manager of ${username}`]);
    expect(await tokens.revokeOthers('controller-manager', second)).toBe(0);
    // Revoked for good.
    await expect(tokens.add('controller-manager', first)).rejects.toMatchObject({ problem: 'invalid' });
    expect(await who(first)).toBeUndefined();
  });

  test('is no token of another user', async () => {
    const token = await added();
    await expect(tokens.add('access-server', token)).rejects.toMatchObject({ problem: 'other-user' });
    expect((await who(token))?.name).toBe(username);
  });

  test('is stored only if what comes before the commit succeeds', async () => {
    const token = newPersonalToken();
    const failing = tokens.add('controller-manager', token, () => Promise.reject(new Error('no space')));
    await expect(failing).rejects.toThrow('no space');
    expect([await who(token), await audited()]).toEqual([undefined, []]);
  });

  test('can be added by several processes at once', async () => {
    const given = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? newPersonalToken() : undefined));
    const shared = newPersonalToken();
    await Promise.all(given.map((token) => tokens.add('controller-manager', token ?? shared)));
    const { rows } = await tests.server.access.pool.query('SELECT 1 FROM access.personal_tokens');
    expect(rows).toHaveLength(5);
  });

  test('creates no further token, which would outlive it', async () => {
    const user = await who(await added());
    const personal = new PersonalTokens({
      database: tests.server.access,
      audit: tests.server.audit,
      roles: { hasRole: () => true, rolesOf: () => [] },
    });
    await expect(personal.create({ user: user!, address: '', requestId: '' }, { name: 'more' })).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining('only the operator makes tokens of system:controller-manager'),
    });
  });
});

describe('the user of a service', () => {
  const send = (method: string, path: string, body?: object): ReturnType<TestUsers['server']['send']> =>
    tests.server.send(method, `/api/v1/users/users/${path}`, { as: admin, ...(body === undefined ? {} : { body }) });

  test('is not listed with people, nor found, changed or deleted as one', async () => {
    const token = await added();
    const id = await idOf();
    const { json } = await send('GET', '?oid=ROOT');
    expect((json as { username: string }[]).map((user) => user.username)).toEqual(['admin']);
    for (const [method, body] of [
      ['GET'],
      ['PATCH', { is_active: false }],
      ['PATCH', { password: 'a new password' }],
      ['DELETE'],
    ] as [string, object?][])
      expect((await send(method, `${id}/?oid=ROOT`, body)).status).toBe(404);
    expect((await send('GET', `${encodeURIComponent(username)}/?oid=ROOT`)).status).toBe(404);
    expect(await tests.parts.users.resolve(username)).toBeUndefined();
    expect((await who(token))?.name).toBe(username);
  });

  test('has a name that no person can take', async () => {
    const create = async (name: string): Promise<unknown> => {
      const body = { username: name, name: 'M', email: 'm@example.com', password: 'correct horse 7' };
      const { status, json } = await send('POST', '?oid=ROOT', body);
      return [status, Object.keys(json as object)];
    };
    const taken = [400, ['username']];
    expect(await create(username)).toEqual(taken);
    expect(await create('SYSTEM:controller-manager')).toEqual(taken);
    await added();
    // A letter that looks like a colon.
    expect(await create('system\uA789controller-manager')).toEqual(taken);
  });

  test('cannot log in', async () => {
    await added();
    expect(await new LoginAccounts(tests.server.access).find(username)).toBeUndefined();
    const login = tests.parts.login.login({ username, password: '', type: 'api', address: '127.0.0.1', userAgent: '' });
    await expect(login).rejects.toMatchObject({ reason: 'password_failed' });
  });
});
