import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ServiceUrl, TrustedProxies } from '#pkg/http/index';
import type { UserInfo } from '#pkg/identity/index';
import { defaultOrgId } from '../accesstest/add-user.ts';
import {
  startAccessTest,
  type AccessAnswer,
  type AccessReplica,
  type AccessTest,
  type AccessTestParts,
} from '../accesstest/start-access-test.ts';
import { testCredential } from '../accesstest/test-credential.ts';
import { jsonAnswer, type Operation } from '../operations/operation.ts';
import { csrfTokenOf } from './csrf-token.ts';
import { sessionAuthenticator } from './session-authenticator.ts';
import { endSessionCookies, sessionCookies } from './session-cookies.ts';
import { sessionOperations } from './session-operations.ts';
import { Sessions, type NewSession, type NewSessionOptions } from './sessions.ts';

const path = '/api/v1/authentication/sessions/';
const whoAmI: Operation = {
  method: 'GET',
  path: '/api/v1/who/',
  operationId: 'who',
  access: 'user',
  handle: async ({ caller }) => jsonAnswer(200, { name: caller.username, scheme: caller.scheme }),
};
const change: Operation = { ...whoAmI, method: 'POST', operationId: 'change' };
const open: Operation = {
  method: 'GET',
  path: '/api/v1/open/',
  operationId: 'open',
  access: 'open',
  handle: async ({ caller }) => jsonAnswer(200, { name: caller?.username ?? null }),
};
const openChange: Operation = { ...open, method: 'POST', operationId: 'openChange' };
const sessionsOf = ({ access }: AccessTestParts): Sessions => new Sessions({ database: access, perUser: 5 });

let server: AccessTest;
let other: AccessReplica;
let sessions: Sessions;
let mia: string;
beforeAll(async () => {
  server = await startAccessTest({
    operations: (parts) => [
      ...sessionOperations({ database: parts.access, audit: parts.audit, sessions: sessionsOf(parts) }),
      whoAmI,
      change,
      open,
      openChange,
    ],
    credentials: (parts) => [testCredential, sessionsOf(parts).credential],
    trustedProxies: ['127.0.0.1'],
    publicUrl: 'https://access.example.com',
    allowedOrigins: ['https://console.example.com'],
  });
  other = await server.startReplica();
  sessions = sessionsOf(server);
  mia = await server.addUser({
    username: 'mia',
    groups: ['writers'],
    systemRoles: ['SystemAuditor', 'SystemUser'],
    orgRoles: { [defaultOrgId]: ['OrgUser'] },
  });
});
afterAll(() => server.stop());

const begin = async (userId = mia, more: Partial<NewSessionOptions> = {}): Promise<NewSession> =>
  (await sessions.create({ userId, address: '192.0.2.1', userAgent: 'Browser', ...more }))!;
const ask = (token: string, on: AccessReplica = server): Promise<AccessAnswer> =>
  on.send('GET', '/api/v1/who/', { headers: { Cookie: `a=b; svc_sessionid=${token}` } });
const sql = (text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }> =>
  server.access.pool.query(text, values);

describe('a session', () => {
  test('is accepted on every replica; only its hash is stored', async () => {
    const { token } = await begin();
    expect(token).toMatch(/^[0-9A-Za-z]{36}$/);
    for (const replica of [server, other])
      expect(await ask(token, replica)).toMatchObject({ status: 200, json: { name: 'mia', scheme: 'session' } });
    expect(JSON.stringify((await sql('SELECT s::text FROM access.sessions s', [])).rows)).not.toContain(token);
  });

  test('costs one statement a request, which reads its user too', async () => {
    const { token } = await begin();
    let count = 0;
    const counting = (): void => void (count += 1);
    server.access.pool.on('acquire', counting);
    expect((await ask(token)).status).toBe(200);
    server.access.pool.off('acquire', counting);
    expect(count).toBe(1);
  });

  test.each(['', 'x', 'a'.repeat(36), "'; DROP TABLE access.sessions --", 'a'.repeat(4000), '"'])(
    'that is invented (%#) is ignored',
    async (token) => {
      expect(await ask(token)).toMatchObject({ status: 401, json: { code: 'not_authenticated' } });
      expect(
        await server.send('GET', '/api/v1/open/', { headers: { Cookie: `svc_sessionid=${token}` } }),
      ).toMatchObject({ status: 200, json: { name: null } });
    },
  );

  test.each([
    { end: 'UPDATE access.sessions SET expires = now() WHERE user_id = $1', reason: 'it was idle for too long' },
    { end: 'UPDATE access.users SET is_active = false WHERE id = $1', reason: 'its user is disabled' },
    { end: 'UPDATE access.users SET date_expired = now() WHERE id = $1', reason: 'its user has expired' },
    { end: 'DELETE FROM access.users WHERE id = $1', reason: 'its user is deleted' },
  ])('is over at the next request of every replica once $reason', async ({ end, reason }) => {
    const id = await server.addUser({ username: reason.replaceAll(' ', '-') });
    const { token } = await begin(id);
    expect((await ask(token, other)).status).toBe(200);
    await sql(end, [id]);
    for (const replica of [server, other])
      expect(await ask(token, replica)).toMatchObject({ status: 401, json: { code: 'not_authenticated' } });
  });

  test('is extended by its use, to the minute, up to a maximum', async () => {
    const { id, token } = await begin();
    const row = async (): Promise<{ idle: number; left: number }> =>
      (
        await sql(
          'SELECT extract(epoch FROM now() - last_seen)::float8 AS idle, extract(epoch FROM expires - now())::float8 AS left FROM access.sessions WHERE id = $1',
          [id],
        )
      ).rows[0] as { idle: number; left: number };
    await sql(
      "UPDATE access.sessions SET last_seen = now() - interval '50 seconds', expires = now() + interval '1 hour' WHERE id = $1",
      [id],
    );
    await ask(token);
    expect((await row()).left).toBeLessThan(3601);
    await sql("UPDATE access.sessions SET last_seen = now() - interval '70 seconds' WHERE id = $1", [id]);
    await ask(token);
    const touched = await row();
    expect(touched.idle).toBeLessThan(30);
    expect(touched.left).toBeGreaterThan(86_300);
    await sql(
      "UPDATE access.sessions SET created = now() - interval '719 hours', last_seen = now() - interval '70 seconds' WHERE id = $1",
      [id],
    );
    await ask(token);
    expect((await row()).left).toBeLessThan(3601);
  });

  test('replaces the one that the browser had', async () => {
    const old = await begin();
    const next = await begin(mia, { replaces: old.token });
    expect([(await ask(old.token)).status, (await ask(next.token)).status]).toEqual([401, 200]);
  });

  test('does not begin if the password was changed meanwhile', async () => {
    const id = await server.addUser({ username: 'eve' });
    expect(await sessions.create({ userId: id, address: '', userAgent: '', passwordChanged: '' })).toBeDefined();
    await sql('UPDATE access.users SET password_changed = now() WHERE id = $1', [id]);
    expect(await sessions.create({ userId: id, address: '', userAgent: '', passwordChanged: '' })).toBeUndefined();
  });

  test('needs its CSRF token for a change', async () => {
    const [{ token, csrfToken }, stranger] = [await begin(), await begin()];
    const post = (headers: Record<string, string>, body = ''): Promise<AccessAnswer> =>
      server.send('POST', '/api/v1/who/', { headers: { Cookie: `svc_sessionid=${token}`, ...headers }, body });
    expect(await post({})).toMatchObject({ status: 403, json: { code: 'csrf_failed' } });
    expect(await post({ 'X-CSRFToken': stranger.csrfToken })).toMatchObject({ status: 403 });
    expect(await post({ 'X-CSRFToken': csrfToken })).toMatchObject({ status: 200 });
    expect(
      await post({ 'Content-Type': 'application/x-www-form-urlencoded' }, `csrfmiddlewaretoken=${csrfToken}`),
    ).toMatchObject({ status: 200 });
  });

  test('refuses a request that names another session', async () => {
    const [{ token, csrfToken }, stranger] = [await begin(), await begin()];
    const get = (headers: Record<string, string>): Promise<AccessAnswer> =>
      server.send('GET', '/api/v1/who/', { headers: { Cookie: `svc_sessionid=${token}`, ...headers } });
    expect(await get({})).toMatchObject({ status: 200 });
    expect(await get({ 'X-CSRFToken': stranger.csrfToken })).toMatchObject({ status: 200 });
    expect(await get({ 'X-SVC-Session': csrfToken })).toMatchObject({ status: 200 });
    expect(await get({ 'X-SVC-Session': stranger.csrfToken })).toMatchObject({
      status: 403,
      json: { code: 'csrf_failed' },
    });
  });

  test.each<[string, Record<string, string>, number]>([
    ['a page of this host', { Origin: 'http://127.0.0.1' }, 200],
    ['a page of this host by another port', { Origin: 'https://127.0.0.1:8443', 'Sec-Fetch-Site': 'same-site' }, 200],
    ['a page of an allowed origin', { Origin: 'https://console.example.com', 'Sec-Fetch-Site': 'cross-site' }, 200],
    ['a program', {}, 200],
    ['a page of another host', { Origin: 'http://evil.example' }, 403],
    [
      'a page of another host, as the browser says',
      { Origin: 'http://127.0.0.1', 'Sec-Fetch-Site': 'cross-site' },
      403,
    ],
    ['a page that hides where it is from', { Origin: 'null' }, 403],
    ['a page of the public host without TLS', { Origin: 'http://access.example.com' }, 403],
    ['a page of the public host', { Origin: 'https://access.example.com' }, 200],
    [
      'a page of the host that a trusted proxy names',
      { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'front.example.com', Origin: 'https://front.example.com' },
      200,
    ],
    [
      'a page without TLS of the host that a trusted proxy names',
      { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'front.example.com', Origin: 'http://front.example.com' },
      403,
    ],
  ])('with the right CSRF token makes a change for %s: %j is %i', async (_who, headers, status) => {
    const { token, csrfToken } = await begin();
    const cookie = { Cookie: `svc_sessionid=${token}`, ...headers };
    const answers = [
      await server.send('POST', '/api/v1/who/', { headers: { ...cookie, 'X-CSRFToken': csrfToken } }),
      await server.send('POST', '/api/v1/who/', {
        headers: { ...cookie, 'Content-Type': 'application/x-www-form-urlencoded' },
        body: `csrfmiddlewaretoken=${csrfToken}`,
      }),
      await server.send('POST', '/api/v1/open/', { headers: { ...cookie, 'X-CSRFToken': csrfToken } }),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject(
        status === 200
          ? { status }
          : { status, json: { code: 'csrf_failed', detail: expect.stringContaining('another address') } },
      );
    // No token is needed for reads, or with another credential.
    expect(await server.send('GET', '/api/v1/who/', { headers: cookie })).toMatchObject({ status: 200 });
    expect(await server.send('POST', '/api/v1/who/', { as: mia, headers })).toMatchObject({ status: 200 });
  });

  test('is one of a few of its user: the longest unused ones end', async () => {
    const id = await server.addUser({ username: 'many' });
    const tokens: string[] = [];
    for (let i = 0; i < 7; i += 1) tokens.push((await begin(id)).token);
    expect((await Promise.all(tokens.map((token) => ask(token)))).map(({ status }) => status)).toEqual([
      401, 401, 200, 200, 200, 200, 200,
    ]);
  });
});

test('cookies hide the session from scripts, show them the CSRF token, and are as strict as possible', () => {
  const session = { token: 't', csrfToken: 'c', maxAgeSeconds: 60 };
  expect(sessionCookies(session, { secure: true })).toEqual([
    'svc_sessionid=t; Max-Age=60; Path=/; HttpOnly; Secure; SameSite=Lax',
    'svc_csrftoken=c; Max-Age=60; Path=/; Secure; SameSite=Lax',
  ]);
  expect(endSessionCookies({ secure: false })).toEqual([
    'svc_sessionid=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax',
    'svc_csrftoken=; Max-Age=0; Path=/; SameSite=Lax',
  ]);
});

describe("one's own sessions", () => {
  test('are listed, the last used first, with the current one marked', async () => {
    const id = await server.addUser({ username: 'lister' });
    await begin(mia);
    const [first, second] = [await begin(id, { userAgent: 'Phone' }), await begin(id)];
    const headers = { Cookie: `svc_sessionid=${second.token}` };
    const answer = await server.send('GET', path, { headers });
    expect(answer.json).toEqual([
      {
        id: second.id,
        remote_addr: '192.0.2.1',
        user_agent: 'Browser',
        created: expect.any(String),
        last_seen: expect.any(String),
        is_current: true,
      },
      expect.objectContaining({ id: first.id, user_agent: 'Phone', is_current: false }),
    ]);
    expect(answer.text).not.toContain(second.token);
    expect((await server.send('GET', `${path}?limit=1&offset=1`, { headers })).json).toMatchObject({
      count: 2,
      next: null,
      results: [{ id: first.id }],
    });
    expect((await server.send('GET', path, { as: id })).json).toMatchObject([
      { is_current: false },
      { is_current: false },
    ]);
  });

  test('can be ended, unlike those of others, and the cookies of the current one are removed with it', async () => {
    const [mine, also, theirs] = [
      await begin(),
      await begin(),
      await begin(await server.addUser({ username: 'another' })),
    ];
    for (const id of [theirs.id, mine.id.replace(/./, 'z'), 'x', '%00'])
      expect((await server.send('DELETE', `${path}${id}/`, { as: mia })).status).toBe(id === '%00' ? 400 : 404);
    const headers = { Cookie: `svc_sessionid=${mine.token}`, 'X-CSRFToken': mine.csrfToken };
    expect((await server.send('DELETE', `${path}${also.id}`, { headers })).headers).not.toHaveProperty('set-cookie');
    expect(await server.send('DELETE', `${path}${mine.id.toUpperCase()}/`, { headers })).toMatchObject({
      status: 204,
      headers: { 'set-cookie': endSessionCookies({ secure: true }) },
    });
    expect(
      (await Promise.all([mine, also, theirs].map(({ token }) => ask(token, other)))).map(({ status }) => status),
    ).toEqual([401, 401, 200]);
    const { rows } = await sql(
      "SELECT username, resource, credential_id FROM access.operate_logs WHERE action = 'revoke' AND resource_type = 'session' ORDER BY id",
      [],
    );
    const credential_id = `SESSION=${mine.id}`;
    expect(rows).toEqual([also, mine].map(({ id }) => ({ username: 'mia', resource: id, credential_id })));
  });

  test('do not end without their row in the audit: without disk space for it they stay, and the response gives the reason', async () => {
    const { id, token } = await begin();
    await sql(
      `CREATE FUNCTION access.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$`,
      [],
    );
    await sql(
      'CREATE TRIGGER no_room BEFORE INSERT ON access.operate_logs FOR EACH ROW EXECUTE FUNCTION access.no_room()',
      [],
    );
    const refused = await server.send('DELETE', `${path}${id}/`, { as: mia });
    expect(refused).toMatchObject({
      status: 503,
      json: { detail: expect.stringContaining('the disk of the database is full') },
    });
    expect((await ask(token)).status).toBe(200);
    await sql('DROP TRIGGER no_room ON access.operate_logs', []);
    expect((await server.send('DELETE', `${path}${id}/`, { as: mia })).status).toBe(204);
    expect((await ask(token)).status).toBe(401);
  });

  test('end all together, except one', async () => {
    const id = await server.addUser({ username: 'ender' });
    const [kept, gone] = [await begin(id), await begin(id)];
    await sessions.endAll(id, { except: kept.id });
    expect([(await ask(kept.token)).status, (await ask(gone.token)).status]).toEqual([200, 401]);
    await sessions.endAll(id);
    expect((await ask(kept.token)).status).toBe(401);
  });
});

describe('on the content platform a session', () => {
  const asked = (method: string, headers: Record<string, string>, on = sessions): Promise<UserInfo | undefined> =>
    sessionAuthenticator({
      sessions: on,
      url: new ServiceUrl(new TrustedProxies([])),
      allowedOrigins: new Set(),
    }).authenticateRequest(
      Object.assign(new IncomingMessage(new Socket()), { method, headers: { host: 'svc.example.com', ...headers } }),
    );

  test('authenticates the user with the current groups', async () => {
    const { id, token } = await begin();
    expect(await asked('GET', { cookie: `svc_sessionid=${token}` })).toEqual({
      name: 'mia',
      uid: mia,
      groups: ['svc:system-auditors', `org:${defaultOrgId}:OrgUser`, 'writers', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': [`SESSION=${id}`] },
    });
  });

  test('that is over or invented is anonymous', async () => {
    const { id, token } = await begin();
    await sessions.end(mia, id);
    expect(await asked('POST', { cookie: `svc_sessionid=${token}` })).toBeUndefined();
    expect(await asked('POST', { cookie: 'svc_sessionid=x' })).toBeUndefined();
    expect(await asked('POST', {})).toBeUndefined();
  });

  test('makes a change with its CSRF token, for a page of this site', async () => {
    const { token } = await begin();
    const cookie = `svc_sessionid=${token}`;
    const origin = 'http://svc.example.com:8091';
    const good = { cookie, origin, 'x-csrftoken': csrfTokenOf(token) };
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      expect(await asked(method, good)).toMatchObject({ name: 'mia' });
      for (const bad of [
        { cookie, origin },
        { ...good, 'x-csrftoken': csrfTokenOf('x') },
        { ...good, origin: 'https://evil.example' },
        { cookie, 'x-csrftoken': good['x-csrftoken'] },
      ]) {
        await expect(asked(method, bad)).rejects.toMatchObject({
          code: 403,
          reason: 'Forbidden',
          message: expect.stringContaining('CSRF'),
        });
      }
    }
  });

  test('refuses a request that names another session', async () => {
    const { token } = await begin();
    const cookie = `svc_sessionid=${token}`;
    expect(await asked('GET', { cookie, 'x-csrftoken': csrfTokenOf('x') })).toMatchObject({ name: 'mia' });
    expect(await asked('GET', { cookie, 'x-svc-session': csrfTokenOf(token) })).toMatchObject({ name: 'mia' });
    await expect(asked('GET', { cookie, 'x-svc-session': csrfTokenOf('x') })).rejects.toMatchObject({ code: 403 });
  });

  test('is 503 without the database', async () => {
    const broken = { find: () => Promise.reject(new Error('away')) } as unknown as Sessions;
    await expect(asked('GET', { cookie: 'svc_sessionid=x' }, broken)).rejects.toMatchObject({ code: 503 });
  });
});
