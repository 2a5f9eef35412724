import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  startAccessTest,
  type AccessAnswer,
  type AccessTest,
  type AccessTestParts,
} from './accesstest/start-access-test.ts';
import { testCredential } from './accesstest/test-credential.ts';
import { currentSessionOperations } from './current-session-operations.ts';
import { LoginService } from './login/login-service.ts';
import { PasswordHasher } from './login/password-hasher.ts';
import { sessionOperations } from './sessions/session-operations.ts';
import { Sessions } from './sessions/sessions.ts';
import { Users } from './users/users.ts';

const path = '/api/v1/authentication/sessions/';
const frontEnd = 'https://app.example.com';
const password = 'three wet boots';
const hasher = new PasswordHasher({ memoryKiB: 64, passes: 1 });
const sessionsOf = ({ access }: AccessTestParts): Sessions => new Sessions({ database: access });

let server: AccessTest;
let mia: string;
beforeAll(async () => {
  server = await startAccessTest({
    operations: (parts) => {
      const { access: database, audit } = parts;
      const shared = { database, audit, sessions: sessionsOf(parts) };
      const login = new LoginService({ database, audit, hasher });
      return [
        ...sessionOperations(shared),
        ...currentSessionOperations({ ...shared, login, users: new Users(database) }),
      ];
    },
    credentials: (parts) => [testCredential, sessionsOf(parts).credential],
    allowedOrigins: [frontEnd],
  });
  mia = await server.addUser({ username: 'mia', passwordHash: await hasher.hash(password) });
});
afterAll(() => server.stop());

interface Browser {
  cookie: string;
  csrfToken: string;
  id: string;
}

const logIn = (
  headers: Record<string, string> = {},
  body: unknown = { username: 'mia', password },
): Promise<AccessAnswer> => server.send('POST', path, { headers, body });

async function begin(headers: Record<string, string> = {}): Promise<Browser> {
  const answer = await logIn(headers);
  expect(answer.status).toBe(201);
  const { id, csrf_token: csrfToken } = answer.json as { id: string; csrf_token: string };
  const cookie = answer.headers['set-cookie']!.map((text) => text.split(';')[0]!).join('; ');
  return { cookie, csrfToken, id };
}

describe('a login by JSON', () => {
  test('sets the cookies of the login page, and answers user and CSRF token', async () => {
    const { status, headers, json } = await logIn();
    expect({ status, json }).toEqual({
      status: 201,
      json: {
        id: expect.any(String),
        csrf_token: expect.any(String),
        user: expect.objectContaining({ id: mia, username: 'mia' }),
      },
    });
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(/^svc_sessionid=[0-9A-Za-z]{36}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/),
      expect.stringMatching(/^svc_csrftoken=[\w-]{43}; Max-Age=\d+; Path=\/; SameSite=Lax$/),
    ]);
    expect(JSON.stringify(json)).not.toContain(/svc_sessionid=(\w+)/.exec(headers['set-cookie']![0]!)![1]);
    const { rows } = await server.access.pool.query(
      "SELECT username, is_success FROM access.login_logs WHERE type = 'web'",
    );
    expect(rows).toContainEqual({ username: 'mia', is_success: true });
  });

  test('ends the previous session of the browser, whose CSRF token it does not need', async () => {
    const first = await begin();
    const second = await begin({ Cookie: first.cookie });
    expect((await server.send('GET', `${path}current/`, { headers: { Cookie: first.cookie } })).status).toBe(401);
    expect(await server.send('GET', `${path}current/`, { headers: { Cookie: second.cookie } })).toMatchObject({
      status: 200,
      json: { id: second.id, csrf_token: second.csrfToken, user: { username: 'mia' } },
    });
  });

  test.each([
    ['a wrong password', { username: 'mia', password: 'x' }, { error: 'password_failed' }],
    ['an unknown user', { username: 'nobody', password: 'x' }, { error: 'password_failed' }],
    ['no password', { username: 'mia' }, { password: [expect.any(String)] }],
    ['a list', [], { non_field_errors: [expect.any(String)] }],
  ])('is refused for %s, and sets no cookie', async (_reason, body, json) => {
    const answer = await logIn({}, body);
    expect(answer).toMatchObject({ status: 400, json });
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  test('counts towards the lock of the account', async () => {
    await server.addUser({ username: 'leo', passwordHash: await hasher.hash(password) });
    for (let attempt = 0; attempt < 7; attempt += 1) await logIn({}, { username: 'leo', password: 'wrong' });
    expect(await logIn({}, { username: 'leo', password })).toMatchObject({
      status: 400,
      json: { error: 'block_login' },
    });
  });

  test.each([
    ['another origin', { Origin: 'https://elsewhere.invalid' }],
    [
      'another origin, as a form',
      { Origin: 'https://elsewhere.invalid', 'Content-Type': 'application/x-www-form-urlencoded' },
    ],
    ['no origin', { Origin: 'null' }],
    ['another site, without an origin', { 'Sec-Fetch-Site': 'cross-site' }],
  ])('is refused to a page of %s', async (_reason, headers) => {
    const answer = await logIn(headers);
    expect(answer).toMatchObject({ status: 403, json: { code: 'csrf_failed' } });
    expect(answer.headers['set-cookie']).toBeUndefined();
  });

  test('is open to a page of an allowed origin, which may read the answer', async () => {
    const preflight = await server.send('OPTIONS', path, {
      headers: {
        Origin: frontEnd,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type',
      },
    });
    expect(preflight).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': frontEnd, 'access-control-allow-credentials': 'true' },
    });
    expect(preflight.headers['access-control-allow-headers']).toContain('X-SVC-ORG');
    expect(await logIn({ Origin: frontEnd, 'Sec-Fetch-Site': 'cross-site' })).toMatchObject({
      status: 201,
      headers: { 'access-control-allow-origin': frontEnd, vary: 'Origin' },
    });
    expect(await logIn({ Origin: frontEnd }, { username: 'mia', password: 'x' })).toMatchObject({
      status: 400,
      headers: { 'access-control-allow-origin': frontEnd },
    });
  });
});

describe('a logout by JSON', () => {
  test('ends the session and deletes the cookies', async () => {
    const { cookie, csrfToken } = await begin();
    const headers = { Cookie: cookie, 'X-CSRFToken': csrfToken, Origin: frontEnd };
    const answer = await server.send('DELETE', path, { headers });
    expect(answer).toMatchObject({ status: 204, text: '' });
    expect(answer.headers['set-cookie']).toEqual([
      expect.stringMatching(/^svc_sessionid=; Max-Age=0;/),
      expect.stringMatching(/^svc_csrftoken=; Max-Age=0;/),
    ]);
    expect((await server.send('DELETE', path, { headers })).status).toBe(401);
  });

  test('needs the CSRF token', async () => {
    const { cookie } = await begin();
    expect(await server.send('DELETE', path, { headers: { Cookie: cookie } })).toMatchObject({
      status: 403,
      json: { code: 'csrf_failed' },
    });
    expect((await server.send('GET', `${path}current/`, { headers: { Cookie: cookie } })).status).toBe(200);
  });

  test('is 404 with another credential, which has no session', async () => {
    for (const [method, at] of [
      ['DELETE', path],
      ['GET', `${path}current/`],
    ] as const)
      expect((await server.send(method, at, { as: mia })).status).toBe(404);
  });
});
