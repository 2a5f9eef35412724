import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { TrustedProxies } from '#pkg/http/index';
import { newPersonalToken } from '#pkg/identity/index';
import { isAccessError, newThrottled } from '../http/access-error.ts';
import { LoginService, type LoginRequest } from './login-service.ts';
import { PasswordHasher } from './password-hasher.ts';
import { PersonalTokenAuthenticator } from '../tokens/personal-token-authenticator.ts';
import { TokenStore } from '../tokens/token-store.ts';
import { platformAuthenticator } from '../tokens/platform-authenticator.ts';
import { startTestPlatform, type TestPlatform, type TestPlatformAnswer } from '../tokens/start-test-platform.ts';
import { BasicAuthenticator } from './basic-authenticator.ts';

const hasher = new PasswordHasher({ memoryKiB: 64, passes: 1 });
const proxies = new TrustedProxies([]);
const password = 'correct horse battery';
let platform: TestPlatform;
let logins: LoginRequest[];
let fault: Error | undefined;
let id: string;
let username: string;
let count = 0;

beforeAll(async () => {
  platform = await startTestPlatform({
    authenticator: ({ database, access, audit }) => {
      const service = new LoginService({ database: access, audit, hasher });
      const login: Pick<LoginService, 'login'> = {
        login: (request) => {
          logins.push(request);
          return fault === undefined ? service.login(request) : Promise.reject(fault);
        },
      };
      const tokens = new PersonalTokenAuthenticator(new TokenStore(database), {
        noteUse: () => {},
        noteFailure: () => {},
      });
      return platformAuthenticator({
        tokens,
        proxies,
        basic: new BasicAuthenticator({ database: access, login, proxies }),
      });
    },
  });
});
beforeEach(async () => {
  [logins, fault] = [[], undefined];
  count += 1;
  username = `mia${count}`;
  id = await platform.addUser({ username, passwordHash: await hasher.hash(password), groups: ['authors'] });
});
afterAll(() => platform.stop());

const header = (name: string, secret: string): string => `Basic ${Buffer.from(`${name}:${secret}`).toString('base64')}`;
const ask = (secret = password, name = username): Promise<TestPlatformAnswer> =>
  platform.send('GET', '/whoami', { authorization: header(name, secret) });
const change = (set: string): Promise<unknown> =>
  platform.database.pool.query(`UPDATE access.users SET ${set} WHERE id = $1`, [id]);
const setPassword = async (secret: string): Promise<void> =>
  void (await platform.database.pool.query(
    'UPDATE access.users SET password_hash = $2, password_changed = now() WHERE id = $1',
    [id, await hasher.hash(secret)],
  ));

describe('a right password', () => {
  test('authenticates the user with the current data, by username or e-mail', async () => {
    for (const name of [username, `${username}@example.com`, username.toUpperCase()]) {
      expect(await ask(password, name)).toMatchObject({
        status: 200,
        json: {
          name: username,
          uid: id,
          groups: ['authors', 'system:authenticated'],
          extra: { 'authentication.kubernetes.io/credential-id': [`PASSWORD=${id}`] },
        },
      });
    }
  });

  test('is a login in the audit, and is not checked again within a minute', async () => {
    for (let i = 0; i < 5; i += 1) expect((await ask()).status).toBe(200);
    expect(logins).toHaveLength(1);
    const { rows } = await platform.database.pool.query(
      'SELECT type, is_success, remote_addr FROM access.login_logs WHERE user_id = $1',
      [id],
    );
    expect(rows).toEqual([{ type: 'basic', is_success: true, remote_addr: '127.0.0.1' }]);
  });

  test('that is used concurrently is one login', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask()));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(logins).toHaveLength(1);
  });

  test.each([
    ['was changed', () => setPassword('another password')],
    ['is of a user who was disabled', () => change('is_active = false')],
    ['is of a user who has expired', () => change("date_expired = now() - interval '1 second'")],
    ['is of a deleted user', () => platform.database.pool.query('DELETE FROM access.users WHERE id = $1', [id])],
  ])('that %s is refused from the next request on', async (_reason, act) => {
    expect((await ask()).status).toBe(200);
    await act();
    const { status, headers, json } = await ask();
    expect([status, headers.get('www-authenticate'), json['reason']]).toEqual([
      401,
      'Bearer realm="svc"',
      'Unauthorized',
    ]);
  });

  test('that was changed and changed back is checked again', async () => {
    expect((await ask()).status).toBe(200);
    await setPassword('another password');
    await setPassword(password);
    expect((await ask()).status).toBe(200);
    expect(logins).toHaveLength(2);
  });

  test('is checked again after its time', async () => {
    const { access } = platform;
    const service = new LoginService({ database: access, audit: platform.audit, hasher });
    const shortLived = new BasicAuthenticator({
      database: access,
      proxies,
      cacheMs: 0,
      login: { login: (request) => (logins.push(request), service.login(request)) },
    });
    const request = { headers: { authorization: header(username, password) }, socket: {} } as Parameters<
      BasicAuthenticator['authenticateRequest']
    >[0];
    await expect(shortLived.authenticateRequest(request)).rejects.toMatchObject({ code: 401 });
    expect(logins).toHaveLength(2);
  });

  test('that is in use stays valid while failures of others lock its account', async () => {
    const service = new LoginService({ database: platform.access, audit: platform.audit, hasher, accountLimit: 2 });
    const shortLived = new BasicAuthenticator({
      database: platform.access,
      proxies,
      cacheMs: 1000,
      login: { login: (request) => (logins.push(request), service.login(request)) },
    });
    const clock = jest.spyOn(performance, 'now');
    const requestOf = (text: string) =>
      ({ headers: { authorization: header(username, text) }, socket: {} }) as Parameters<
        BasicAuthenticator['authenticateRequest']
      >[0];
    let now = 1000;
    clock.mockImplementation(() => now);
    try {
      expect(await shortLived.authenticateRequest(requestOf(password))).toMatchObject({ name: username });
      for (let i = 0; i < 2; i += 1)
        await expect(shortLived.authenticateRequest(requestOf('wrong'))).rejects.toMatchObject({ code: 401 });
      for (let i = 0; i < 3; i += 1) {
        now += 900;
        expect(await shortLived.authenticateRequest(requestOf(password))).toMatchObject({ name: username });
      }
      now += 1000;
      await expect(shortLived.authenticateRequest(requestOf(password))).rejects.toMatchObject({ code: 401 });
    } finally {
      clock.mockRestore();
    }
  });

  test('of a watch is rechecked without a login, for as long as the watch lasts', async () => {
    const service = new LoginService({ database: platform.access, audit: platform.audit, hasher });
    const shortLived = new BasicAuthenticator({
      database: platform.access,
      proxies,
      cacheMs: 1000,
      login: { login: (request) => (logins.push(request), service.login(request)) },
    });
    const request = { headers: { authorization: header(username, password) }, socket: {} } as Parameters<
      BasicAuthenticator['authenticateRequest']
    >[0];
    for (let i = 0; i < 3; i += 1)
      expect(await shortLived.authenticateRequest(request)).toMatchObject({ name: username });
    await setPassword('another password');
    for (let i = 0; i < 10; i += 1)
      await expect(shortLived.authenticateRequest(request)).rejects.toMatchObject({ code: 401 });
    expect(logins).toHaveLength(1);
    expect((await ask('another password')).status).toBe(200);
  });

  test('has the current permissions of the user', async () => {
    await ask();
    await change("groups = '{editors}'");
    expect((await ask()).json).toMatchObject({ groups: ['editors', 'system:authenticated'] });
  });
});

describe('a wrong password', () => {
  test('is 401 for any user, and is not cached', async () => {
    const answers = [await ask('wrong'), await ask(password, 'nobody'), await ask('wrong')];
    expect(answers.map(({ status, json }) => [status, json['message']])).toEqual(
      Array.from({ length: 3 }, () => [401, 'Unauthorized']),
    );
    expect(logins).toHaveLength(3);
  });

  test('locks the account like the login page, also for the right password; a verified one stays valid for its minute', async () => {
    expect((await ask(password, `${username}@example.com`)).status).toBe(200);
    for (let i = 0; i < 7; i += 1) expect((await ask(`wrong ${i}`)).status).toBe(401);
    expect((await ask()).status).toBe(401);
    expect((await ask(password, `${username}@example.com`)).status).toBe(200);
    const { rows } = await platform.database.pool.query(
      'SELECT reason FROM access.login_logs WHERE user_id = $1 ORDER BY id DESC LIMIT 1',
      [id],
    );
    expect(rows).toEqual([{ reason: 'block_login' }]);
  });

  test('is counted for the address, too', async () => {
    const ofAddress = async (): Promise<number> =>
      (
        await platform.database.pool.query<{ count: number }>(
          "SELECT count FROM access.login_failures WHERE key = 'ip:127.0.0.1'",
        )
      ).rows[0]?.count ?? 0;
    const before = await ofAddress();
    await ask('wrong');
    await ask('wrong', 'nobody');
    expect(await ofAddress()).toBe(before + 2);
  });

  test("is not accepted if it is the user's personal token", async () => {
    const token = newPersonalToken();
    await platform.database.pool.query(
      "INSERT INTO access.personal_tokens (name, username, user_id, hash) VALUES ('t', '', $1, $2)",
      [id, TokenStore.hash(token)],
    );
    expect((await platform.send('GET', '/whoami', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await ask(token)).status).toBe(401);
  });
});

describe('a credential that cannot be checked', () => {
  test('is 401 if it is malformed, and costs no login', async () => {
    for (const authorization of ['Basic', 'Basic !', 'Basic bWlh', `${header(username, password)} x`])
      expect((await platform.send('GET', '/whoami', { authorization })).status).toBe(401);
    expect(logins).toHaveLength(0);
  });

  test('is 429 if too many passwords are being checked, 503 if the database is unavailable, and can be retried', async () => {
    fault = newThrottled(1);
    expect(isAccessError(fault)).toBe(true);
    const busy = await ask();
    expect([busy.status, busy.headers.get('retry-after')]).toEqual([429, '1']);
    fault = new Error('away');
    expect((await ask()).status).toBe(503);
    fault = undefined;
    expect((await ask()).status).toBe(200);
  });
});
