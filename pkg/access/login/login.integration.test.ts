import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  startAccessTest,
  type AccessAnswer,
  type AccessReplica,
  type AccessTest,
  type AccessTestParts,
} from '../accesstest/start-access-test.ts';
import { BearerTokens } from '../tokens/bearer-tokens.ts';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { PasswordHasher } from './password-hasher.ts';
import { TooManyPasswordsError } from './hashing-queue.ts';
import { Users } from '../users/users.ts';
import { loginOperations } from '../login-operations.ts';
import { LoginService } from './login-service.ts';

const path = '/api/v1/authentication/auth/';
const password = 'a horse, a battery, a staple';
const hasher = new PasswordHasher({ memoryKiB: 64, passes: 1 });

/** Number of checked passwords, of all replicas. */
let verifyCount = 0;
let isOverloaded = false;
/** Runs while a password is checked. */
let duringCheck = (): Promise<unknown> => Promise.resolve();
const countingHasher: Pick<PasswordHasher, 'verify' | 'hash'> = {
  hash: (text) => hasher.hash(text),
  verify: async (stored, text) => {
    verifyCount += 1;
    await duringCheck();
    return isOverloaded ? Promise.reject(new TooManyPasswordsError()) : hasher.verify(stored, text);
  },
};

const whoAmI: Operation = {
  method: 'GET',
  path: '/api/v1/who/',
  operationId: 'who',
  access: 'user',
  handle: async ({ caller }) => jsonAnswer(200, { name: caller.username, scheme: caller.scheme }),
};
const tokensOf = ({ access, audit }: AccessTestParts): BearerTokens => new BearerTokens({ database: access, audit });
const loginOf = ({ access, audit }: AccessTestParts): LoginService =>
  new LoginService({ database: access, audit, hasher: countingHasher, addressLimit: 20 });

let server: AccessTest;
let other: AccessReplica;
let passwordHash: string;
beforeAll(async () => {
  server = await startAccessTest({
    operations: (parts) => [
      ...loginOperations({ login: loginOf(parts), bearerTokens: tokensOf(parts), users: new Users(parts.access) }),
      whoAmI,
    ],
    credentials: (parts) => [tokensOf(parts).credential],
    trustedProxies: ['127.0.0.1'],
  });
  other = await server.startReplica();
  passwordHash = await hasher.hash(password);
});
beforeEach(async () => {
  verifyCount = 0;
  await server.access.pool.query('TRUNCATE access.login_failures, access.login_logs, access.operate_logs');
});
afterAll(() => server.stop());

let count = 0;
/** Adds a user for this test; returns the username. */
async function newUser(more: Omit<Parameters<AccessTest['addUser']>[0], 'username'> = {}): Promise<string> {
  count += 1;
  const username = `User${count}`;
  await server.addUser({ username, passwordHash, ...more });
  return username;
}

/** From a new address by default. */
function logIn(
  username: string,
  secret: string,
  { from = `10.0.0.${count}`, on = server }: { from?: string; on?: AccessReplica } = {},
): Promise<AccessAnswer> {
  return on.send('POST', path, { body: { username, password: secret }, headers: { 'X-Forwarded-For': from } });
}

const failures = async (key: string): Promise<number> => {
  const { rows } = await server.access.pool.query<{ count: number }>(
    'SELECT count FROM access.login_failures WHERE key = $1',
    [key],
  );
  return rows[0]?.count ?? 0;
};
const times = <T>(n: number, work: (i: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: n }, (_, i) => work(i)));
const wrong = 'something else';

describe('a user with the right password', () => {
  test('gets a token and the record of the user, and the token is accepted', async () => {
    const username = await newUser();
    const before = Date.now();
    const answer = await logIn(username, password);
    expect(answer).toMatchObject({
      status: 201,
      json: {
        token: expect.stringMatching(/^[0-9A-Za-z]{36}$/),
        keyword: 'Bearer',
        user: { username, is_valid: true, last_login: expect.any(String) },
      },
    });
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(answer.text).not.toContain('argon2');
    const { token, date_expired } = answer.json as { token: string; date_expired: string };
    expect(Math.abs(Date.parse(date_expired) - before - 86_400_000)).toBeLessThan(10_000);
    expect((await other.send('GET', '/api/v1/who/', { as: token })).json).toEqual({ name: username, scheme: 'bearer' });
  });

  test.each([
    {
      reason: 'a form',
      type: 'application/x-www-form-urlencoded',
      body: (name: string) => new URLSearchParams({ username: name, password }).toString(),
    },
    {
      reason: 'a form of parts',
      type: 'multipart/form-data; boundary=x',
      body: (name: string) =>
        `--x\r\nContent-Disposition: form-data; name="username"\r\n\r\n${name}\r\n--x\r\nContent-Disposition: form-data; name="password"\r\n\r\n${password}\r\n--x--\r\n`,
    },
    {
      reason: 'JSON with more in it',
      type: 'application/json; charset=utf-8',
      body: (name: string) => JSON.stringify({ username: name, password, public_key: null, __proto__: { x: 1 } }),
    },
    {
      reason: 'JSON without a content type',
      type: '',
      body: (name: string) => JSON.stringify({ username: name, password }),
    },
  ])('may send $reason', async ({ type, body }) => {
    const username = await newUser();
    expect(
      (await server.send('POST', path, { body: body(username), headers: type === '' ? {} : { 'Content-Type': type } }))
        .status,
    ).toBe(201);
  });

  test.each(['/api/v1/authentication/auth', '/api/v1/authentication/tokens/', '/api/v1/authentication/tokens'])(
    'may send it to %s',
    async (at) => {
      const username = await newUser();
      expect((await server.send('POST', at, { body: { username, password } })).status).toBe(201);
    },
  );

  test.each([
    { as: (name: string) => name.toUpperCase(), reason: 'in capitals' },
    { as: (name: string) => ` ${name}\t`, reason: 'with space around it' },
    { as: (name: string) => `${name}@example.com`, reason: 'by e-mail' },
    { as: (name: string) => `${name}@EXAMPLE.com`, reason: 'by e-mail in capitals' },
  ])('may write the name $reason', async ({ as }) => {
    expect((await logIn(as(await newUser()), password)).status).toBe(201);
  });

  test('gets the token of the user in the body, regardless of other credentials of the request', async () => {
    const [mine, theirs] = [await newUser(), await newUser()];
    const { token } = (await logIn(mine, password)).json as { token: string };
    expect(await server.send('POST', path, { as: token, body: { username: theirs, password } })).toMatchObject({
      status: 201,
      json: { user: { username: theirs } },
    });
    expect(await server.send('POST', path, { as: 'wrong', body: { username: theirs, password } })).toMatchObject({
      status: 401,
      json: { code: 'authentication_failed' },
    });
  });

  test('learns that the user is inactive or expired, unlike others', async () => {
    const inactive = await newUser({ isActive: false });
    const expired = await newUser({ dateExpired: new Date(Date.now() - 1000) });
    expect(await logIn(inactive, password)).toMatchObject({
      status: 400,
      json: { error: 'user_inactive', msg: expect.any(String) },
    });
    expect(await logIn(expired, password)).toMatchObject({
      status: 400,
      json: { error: 'user_expired', msg: expect.any(String) },
    });
    for (const username of [inactive, expired])
      expect(await logIn(username, wrong)).toMatchObject({ status: 400, json: { error: 'password_failed' } });
  });

  test('has the password hashed again if the parameters have become stronger, and it counts as the same password', async () => {
    const username = await newUser({
      passwordHash: await new PasswordHasher({ memoryKiB: 32, passes: 1 }).hash(password),
    });
    expect((await logIn(username, password)).status).toBe(201);
    const { rows } = await server.access.pool.query<{ password_hash: string; password_changed: Date | null }>(
      'SELECT password_hash, password_changed FROM access.users WHERE username = $1',
      [username],
    );
    expect(rows[0]).toMatchObject({ password_hash: expect.stringContaining('m=64'), password_changed: null });
    expect((await logIn(username, password)).status).toBe(201);
  });
});

describe('an unusable request', () => {
  const required = ['This field is required.'];
  test.each([
    { body: {}, json: { username: required, password: required }, reason: 'nothing' },
    { body: { username: 'x' }, json: { password: required }, reason: 'no password' },
    { body: { username: null, password: 'x' }, json: { username: ['This field may not be null.'] }, reason: 'null' },
    { body: { username: ' ', password: '' }, json: { password: ['This field may not be blank.'] }, reason: 'blank' },
    {
      body: { username: true, password: { a: 1 } },
      json: { username: ['Not a valid string.'], password: ['Not a valid string.'] },
      reason: 'values that are not texts',
    },
    {
      body: { username: 'x'.repeat(255), password: 'x'.repeat(1025) },
      json: {
        username: ['Ensure this field has no more than 254 characters.'],
        password: ['Ensure this field has no more than 1024 characters.'],
      },
      reason: 'too long',
    },
    { body: '{"username":', json: { code: 'parse_error' }, reason: 'broken JSON' },
    {
      body: [],
      json: { non_field_errors: ['Invalid data. Expected an object.'] },
      reason: 'a body that is not an object',
    },
  ])('$reason is 400 and computes no hash', async ({ body, json }) => {
    expect(await server.send('POST', path, { body, headers: { 'Content-Type': 'application/json' } })).toMatchObject({
      status: 400,
      json,
    });
    expect(verifyCount).toBe(0);
  });

  test('a number is accepted as its digits', async () => {
    expect(await server.send('POST', path, { body: { username: 4711, password: 12345678 } })).toMatchObject({
      status: 400,
      json: { error: 'password_failed' },
    });
    expect(await failures('user:4711')).toBe(1);
  });

  test('another method is 405, another type 415', async () => {
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      expect(await server.send(method, path)).toMatchObject({
        status: 405,
        headers: { allow: 'POST' },
        json: { code: 'method_not_allowed' },
      });
    expect((await server.send('POST', path, { body: 'x', headers: { 'Content-Type': 'text/plain' } })).status).toBe(
      415,
    );
  });

  test.each([
    { name: 'User1\0', reason: 'a null character' },
    { name: '\ud800', reason: 'half a character' },
    { name: '\ufdfa'.repeat(254), reason: 'a text that grows when it is folded' },
    { name: "' OR 1=1 --", reason: 'SQL' },
    { name: '__proto__', reason: 'a property name of Object' },
  ])('$reason is an unknown user', async ({ name }) => {
    const login = loginOf(server);
    const attempt = (secret: string): Promise<unknown> =>
      login.login({ username: name, password: secret, address: '10.3.0.1', userAgent: '', type: 'basic' });
    for (let i = 0; i < 7; i += 1)
      await expect(attempt(`x\0\ud800${i}`)).rejects.toMatchObject({ status: 400, body: { error: 'password_failed' } });
    await expect(attempt(password)).rejects.toMatchObject({ status: 400, body: { error: 'block_login' } });
  });
});

describe('a client without the password', () => {
  test('cannot find out whether a user exists', async () => {
    const username = await newUser();
    for (let i = 0; i < 9; i += 1) {
      const [known, unknown] = [await logIn(username, wrong), await logIn('nobody', wrong, { from: '10.9.9.9' })];
      expect(known.text).toBe(unknown.text);
      const { date: _date, 'x-request-id': _id, 'audit-id': _audit, ...headers } = known.headers;
      expect(unknown.headers).toMatchObject(headers);
      expect([known.status, unknown.status]).toEqual([400, 400]);
    }
    expect(verifyCount).toBe(14);
  });

  test('cannot find out by trying one name after the other either, as long as none is locked', async () => {
    const username = await newUser();
    const strangers = [username, `${username}@example.com`].map((name) => name.replace('User', 'Nobody'));
    for (let i = 0; i < 7; i += 1) {
      const known = await logIn(i % 2 === 0 ? username : `${username}@EXAMPLE.com`, wrong);
      const unknown = await logIn(strangers[i % 2]!, wrong, { from: '10.9.9.8' });
      expect([known.status, known.text]).toEqual([unknown.status, unknown.text]);
    }
  });

  test('locks the account with 7 failures, also for the right password and under all its names; an existing session stays', async () => {
    const username = await newUser();
    const { token } = (await logIn(username, password)).json as { token: string };
    const names = [
      username,
      username.toUpperCase(),
      `${username}@example.com`,
      ` ${username}`,
      `${username}@EXAMPLE.COM`,
      username,
      username,
    ];
    for (const [i, name] of names.entries()) {
      const answer = await logIn(name, wrong, { on: i % 2 === 0 ? server : other });
      const msg =
        'The username or password you entered is incorrect. After 7 failed attempts in 30 minutes an account is locked.';
      expect(answer).toMatchObject({ status: 400, json: { error: 'password_failed', msg } });
    }
    for (const name of names)
      expect(await logIn(name, password)).toMatchObject({
        status: 400,
        json: { error: 'block_login', msg: expect.stringContaining('30 minutes') },
      });
    expect(verifyCount).toBe(8);
    expect((await other.send('GET', '/api/v1/who/', { as: token })).status).toBe(200);
  });

  test('is locked out for the announced time: attempts during it neither extend it nor are checked', async () => {
    const username = await newUser();
    for (let i = 0; i < 7; i += 1) await logIn(username, wrong);
    const key = `user:${username.toLowerCase()}`;
    const lock = (): Promise<{ rows: unknown[] }> =>
      server.access.pool.query('SELECT count, expires FROM access.login_failures WHERE key = $1', [key]);
    const { rows } = await lock();
    await logIn(username, password);
    expect((await lock()).rows).toEqual(rows);
    expect(verifyCount).toBe(7);
    await server.access.pool.query(
      `UPDATE access.login_failures SET expires = now() + interval '90 seconds' WHERE key = $1`,
      [key],
    );
    expect((await logIn(username, password)).json).toMatchObject({ msg: expect.stringContaining('2 minutes') });
    await server.access.pool.query('UPDATE access.login_failures SET expires = now() WHERE key = $1', [key]);
    expect((await logIn(username, password)).status).toBe(201);
  });

  test('starts again from zero after the right password', async () => {
    const username = await newUser();
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 6; i += 1)
        expect((await logIn(username, wrong)).json).toMatchObject({ error: 'password_failed' });
      expect((await logIn(username, password)).status).toBe(201);
    }
    expect(await failures(`user:${username.toLowerCase()}`)).toBe(0);
  });

  test('gets no more attempts by concurrency, on several replicas', async () => {
    const username = await newUser();
    // From many addresses, a few at a time each, so that only the account's limit applies.
    const answers = await times(50, (i) =>
      logIn(username, wrong, { from: `10.1.${i}.1`, on: i % 2 === 0 ? server : other }),
    );
    const errors = answers.map(({ status, json }) =>
      status === 429 ? 'throttled' : (json as { error: string }).error,
    );
    expect(errors.filter((error) => error === 'password_failed')).toHaveLength(7);
    expect(verifyCount).toBe(7);
    expect(await failures(`user:${username.toLowerCase()}`)).toBe(7);
  });

  test('is limited by address, too, for any names; other addresses are not', async () => {
    await newUser();
    for (let i = 0; i < 20; i += 1)
      expect((await logIn(`stranger${i}`, wrong, { from: `2001:db8::${i.toString(16)}` })).json).toMatchObject({
        error: 'password_failed',
      });
    const username = `User${count}`;
    expect(await logIn(username, password, { from: '2001:db8::ffff' })).toMatchObject({
      status: 400,
      json: { error: 'block_login', msg: expect.stringContaining('your address') },
    });
    expect(await failures(`user:${username.toLowerCase()}`)).toBe(0);
    expect((await logIn(username, password, { from: '2001:db8:0:1::1' })).status).toBe(201);
  });
});

test('an attempt from a locked address is not checked any more, and only a few attempts a minute are recorded', async () => {
  const login = loginOf(server);
  const guess = (): Promise<unknown> =>
    login.login({
      username: `stranger${verifyCount}`,
      password: wrong,
      address: '10.4.0.1',
      userAgent: '',
      type: 'basic',
    });
  for (let i = 0; i < 20; i += 1) await expect(guess()).rejects.toMatchObject({ body: { error: 'password_failed' } });
  for (let i = 0; i < 30; i += 1) await expect(guess()).rejects.toMatchObject({ body: { error: 'block_login' } });
  expect(verifyCount).toBe(20);
  const { rows } = await server.access.pool.query<{ count: string }>('SELECT count(*) FROM access.login_logs');
  expect(Number(rows[0]!.count)).toBeGreaterThanOrEqual(25);
  // Twice as many if a new minute began meanwhile.
  expect(Number(rows[0]!.count)).toBeLessThanOrEqual(30);
});

test('a name beyond the maximum length costs next to nothing, and counts', async () => {
  const login = loginOf(server);
  const username = `a${'\u0300\u0316'.repeat(250_000)}`;
  const began = performance.now();
  for (let i = 0; i < 7; i += 1)
    await expect(
      login.login({ username, password: wrong, address: '10.4.0.2', userAgent: '', type: 'basic' }),
    ).rejects.toMatchObject({ body: { error: 'password_failed' } });
  await expect(
    login.login({ username, password: wrong, address: '10.4.0.2', userAgent: '', type: 'basic' }),
  ).rejects.toMatchObject({ body: { error: 'block_login' } });
  expect(performance.now() - began).toBeLessThan(20_000);
});

test('a user logs in with a name that grows when it is folded', async () => {
  const username = 'ﬃ'.repeat(120);
  await server.addUser({ username, passwordHash });
  expect((await logIn(username, password)).status).toBe(201);
});

test('a body that is not JSON is not repeated, because it may contain a password', async () => {
  const answer = await server.send('POST', path, {
    body: `{"username": "x", "password": ${password}}`,
    headers: { 'Content-Type': 'application/json' },
  });
  expect(answer).toMatchObject({
    status: 400,
    json: { detail: 'JSON parse error: the body is not valid JSON.', code: 'parse_error' },
  });
});

test.each([
  {
    reason: 'many parts',
    body: '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(1100) + '--x--\r\n',
    status: 400,
  },
  {
    reason: 'many header lines',
    body: `--x\r\nContent-Disposition: form-data; name="a"\r\n${'a:\r\n'.repeat(13_000)}\r\n\r\n--x--\r\n`,
    status: 400,
  },
  {
    reason: 'a malformed escape',
    type: 'application/x-www-form-urlencoded',
    body: 'username=a&password=%zz',
    status: 400,
  },
  {
    reason: 'a text that is not UTF-8',
    type: 'application/x-www-form-urlencoded',
    body: 'username=a&password=%ff',
    status: 400,
  },
  {
    reason: 'a large one',
    body: `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${'x'.repeat(65_536)}\r\n--x--\r\n`,
    status: 413,
  },
  {
    reason: 'a large form',
    type: 'application/x-www-form-urlencoded',
    body: `username=${'x'.repeat(65_536)}`,
    status: 413,
  },
])('$reason is not parsed', async ({ type = 'multipart/form-data; boundary=x', body, status }) => {
  const answer = await server.send('POST', path, { body, headers: { 'Content-Type': type } });
  expect([answer.status, (answer.json as { code: string }).code]).toEqual([
    status,
    status === 400 ? 'parse_error' : 'too_large',
  ]);
});

test.each(['%', '%zz', '%ff', '%C3'])(
  'a path or a parameter with the escape %s is malformed, for any client and any path',
  async (escape) => {
    for (const target of [
      `/api/v1/who/?limit=${escape}`,
      `/api/v1/who/?${escape}=1`,
      `${path}?oid=${escape}`,
      `/api/v1/${escape}/`,
    ]) {
      const answer = await server.send('GET', target);
      expect([target, answer.status, (answer.json as { code: string }).code]).toEqual([target, 400, 'parse_error']);
    }
  },
);

test('concurrent right passwords are not failures', async () => {
  const username = await newUser();
  for (let i = 0; i < 6; i += 1) await logIn(username, wrong);
  expect((await times(8, () => logIn(username, password))).map(({ status }) => status)).toEqual(
    Array.from({ length: 8 }, () => 201),
  );
  expect(await failures(`ip:10.0.0.${count}`)).toBe(6);
});

test('beyond the limit of concurrent checks the response is 429, and nothing is counted', async () => {
  const username = await newUser();
  isOverloaded = true;
  try {
    for (let i = 0; i < 10; i += 1)
      expect(await logIn(username, password)).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1' },
        json: { code: 'throttled' },
      });
  } finally {
    isOverloaded = false;
  }
  expect([await failures(`user:${username.toLowerCase()}`), await failures(`ip:10.0.0.${count}`)]).toEqual([0, 0]);
  expect((await logIn(username, password)).status).toBe(201);
});

test('every login and every failed login is recorded in the audit, without the password', async () => {
  const username = await newUser();
  await logIn(username.toUpperCase(), password);
  await logIn(`${username}@example.com`, wrong);
  await logIn('nobody', wrong);
  const { rows } = await server.access.pool.query<Record<string, unknown>>(
    'SELECT * FROM access.login_logs ORDER BY id',
  );
  expect(rows).toMatchObject([
    {
      username,
      user_id: expect.any(String),
      type: 'api',
      remote_addr: `10.0.0.${count}`,
      is_success: true,
      reason: '',
    },
    { username: `${username}@example.com`, user_id: rows[0]!['user_id'], is_success: false, reason: 'password_failed' },
    { username: 'nobody', user_id: null, is_success: false, reason: 'password_failed' },
  ]);
  const text = JSON.stringify([rows, server.logs]);
  for (const secret of [password, wrong, passwordHash]) expect(text).not.toContain(secret);
});

test('a login without a token is a failed one', async () => {
  const username = await newUser();
  const change = 'UPDATE access.users SET password_changed = now() WHERE username = $1';
  duringCheck = () => server.access.pool.query(change, [username]);
  try {
    expect(await logIn(username, password)).toMatchObject({
      status: 400,
      json: {
        error: 'password_failed',
        msg: 'The password was changed at this moment. Try again with the new one.',
      },
    });
  } finally {
    duringCheck = () => Promise.resolve();
  }
  const { rows } = await server.access.pool.query(
    'SELECT l.is_success, l.reason, u.last_login FROM access.login_logs l JOIN access.users u ON u.id = l.user_id',
  );
  expect(rows).toEqual([{ is_success: false, reason: 'password_failed', last_login: null }]);
});

test('a confirmation of the password is counted like a login, and is not one', async () => {
  const username = await newUser();
  const login = loginOf(server);
  const attempt = { username, address: '10.2.0.1', userAgent: 'Browser', type: 'web' as const };
  expect(await login.confirmPassword({ ...attempt, password })).toBe(true);
  for (let i = 0; i < 7; i += 1) expect(await login.confirmPassword({ ...attempt, password: wrong })).toBe(false);
  await expect(login.confirmPassword({ ...attempt, password })).rejects.toMatchObject({
    status: 400,
    body: { error: 'block_login' },
  });
  const { rows } = await server.access.pool.query(
    'SELECT username, type, remote_addr, user_agent, is_success, reason FROM access.login_logs ORDER BY id',
  );
  const failed = { username, type: 'web', remote_addr: '10.2.0.1', user_agent: 'Browser', is_success: false };
  expect(rows).toEqual(
    [...Array.from({ length: 7 }, () => 'password_failed'), 'block_login'].map((reason) => ({ ...failed, reason })),
  );
});
