import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FormClient } from './pagetest/form-client.ts';
import { startPageTest, type PageTest } from './pagetest/start-page-test.ts';

let server: PageTest;
let mia: string;
beforeAll(async () => {
  server = await startPageTest();
  mia = await server.addPerson({ username: 'mia', password: 'blue horse 7' });
  await server.addPerson({ username: 'leo', password: 'green horse 8' });
});
afterAll(() => server.stop());

const right = { username: 'mia', password: 'blue horse 7', next: '' };

async function atLogin(path = '/login/'): Promise<FormClient> {
  const client = new FormClient(server);
  await client.get(path);
  return client;
}

describe('the login page', () => {
  test('is a page without foreign content, which is not cached', async () => {
    const { status, headers, text } = await new FormClient(server).get('/login/');
    expect({ status, headers, text }).toMatchObject({
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
      },
      text: expect.stringContaining('<html lang="en">'),
    });
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
  });

  test('starts a session, and redirects', async () => {
    const client = await atLogin();
    const { status, headers } = await client.post('/login/', { ...right, next: '/settings/sessions/?x=1' });
    expect({ status, location: headers.location }).toEqual({ status: 303, location: '/settings/sessions/?x=1' });
    const cookies = headers['set-cookie'] ?? [];
    expect(cookies.find((cookie) => cookie.startsWith('svc_sessionid='))).toMatch(
      /^svc_sessionid=[0-9A-Za-z]{36}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax$/,
    );
    expect(cookies.find((cookie) => cookie.startsWith('svc_csrftoken='))).not.toMatch(/HttpOnly/);
    expect(await client.get('/settings/')).toMatchObject({
      status: 200,
      text: expect.stringContaining('Logged in as <strong>mia</strong>'),
    });
    expect(await client.get('/login/?next=/api/docs/')).toMatchObject({
      status: 303,
      headers: { location: '/api/docs/' },
    });
    expect(await client.get('/')).toMatchObject({ status: 303, headers: { location: '/settings/' } });
  });

  test.each<{
    reason: string;
    options: Parameters<typeof startPageTest>[0];
    headers: Record<string, string>;
    origin: string;
    isSecure: boolean;
  }>([
    {
      reason: 'has Secure cookies if a trusted proxy reports TLS',
      options: { trustedProxies: ['127.0.0.1'] },
      headers: { 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'access.example.com' },
      origin: 'https://access.example.com',
      isSecure: true,
    },
    {
      reason: 'has Secure cookies at its public address',
      options: { publicUrl: 'https://access.example.com' },
      headers: { Host: 'access.example.com' },
      origin: 'https://access.example.com',
      isSecure: true,
    },
    {
      reason: 'has Secure cookies at its public address, also by an untrusted proxy that sends another host',
      options: { publicUrl: 'https://access.example.com' },
      headers: { Host: '10.0.0.7:8091' },
      origin: 'https://access.example.com',
      isSecure: true,
    },
    {
      reason: 'ignores an untrusted client that reports TLS',
      options: {},
      headers: { 'X-Forwarded-Proto': 'https', Host: 'a.example' },
      origin: 'http://a.example',
      isSecure: false,
    },
  ])('$reason', async ({ options, headers, origin, isSecure }) => {
    const place = await startPageTest(options);
    try {
      await place.addPerson({ username: 'mia' });
      const client = new FormClient(place);
      const cookies: string[] = [];
      const keep = (answer: { status: number; headers: { 'set-cookie'?: string[] | undefined } }): number => {
        cookies.push(...(answer.headers['set-cookie'] ?? []));
        return answer.status;
      };
      keep(await client.get('/login/', headers));
      expect(keep(await client.post('/login/', right, { ...headers, Origin: origin }))).toBe(303);
      await client.get('/settings/', headers);
      expect(keep(await client.post('/logout/', {}, { ...headers, Origin: origin }))).toBe(303);
      expect(cookies.map((cookie) => cookie.slice(0, cookie.indexOf('=')))).toEqual([
        'svc_loginform',
        'svc_sessionid',
        'svc_csrftoken',
        'svc_loginform',
        'svc_sessionid',
        'svc_csrftoken',
      ]);
      for (const cookie of cookies) {
        expect(cookie).toMatch(/; Path=\/(; HttpOnly)?(; Secure)?; SameSite=Lax$/);
        expect(cookie).not.toMatch(/; *Domain/i);
        expect(cookie.endsWith('; Secure; SameSite=Lax')).toBe(isSecure);
      }
    } finally {
      await place.stop();
    }
  });

  test('a password manager finds the purpose of each field', async () => {
    const { text } = await new FormClient(server).get('/login/');
    expect(text).toMatch(
      /<input[^>]*name="username"[^>]*autocomplete="username"|<input[^>]*autocomplete="username"[^>]*name="username"/,
    );
    expect(text).toMatch(
      /<input[^>]*name="password"[^>]*autocomplete="current-password"|<input[^>]*autocomplete="current-password"[^>]*name="password"/,
    );
  });

  test.each(['//elsewhere.invalid', 'https://elsewhere.invalid/', '/\\elsewhere.invalid', 'javascript:alert(1)'])(
    'never redirects to %s',
    async (next) => {
      const client = await atLogin(`/login/?next=${encodeURIComponent(next)}`);
      expect((await client.post('/login/', { ...right, next })).headers.location).toBe('/settings/');
      expect((await client.get(`/login/?next=${encodeURIComponent(next)}`)).headers.location).toBe('/settings/');
    },
  );

  test('shows the same message for a wrong password and an unknown user, and keeps the name but never the password', async () => {
    const client = await atLogin();
    const wrong = await client.post('/login/', {
      username: '"><b>mia',
      password: 'wrong horse',
      next: '/settings/sessions/',
    });
    expect(wrong).toMatchObject({ status: 400, text: expect.stringContaining('role="alert"') });
    expect(wrong.text).toContain('value="&quot;&gt;&lt;b&gt;mia"');
    expect(wrong.text).toContain('value="/settings/sessions/"');
    expect(wrong.text).not.toContain('wrong horse');
    expect(wrong.text).toContain('<title>Problem: Log in');
    const known = await client.post('/login/', { username: 'mia', password: 'wrong horse' });
    expect(/role="alert">(.*?)<\/div>/s.exec(known.text)?.[1]).toBe(/role="alert">(.*?)<\/div>/s.exec(wrong.text)?.[1]);
    expect(await client.post('/login/', {})).toMatchObject({
      status: 400,
      text: expect.stringContaining('Enter your password.'),
    });
    expect(client.cookies.has('svc_sessionid')).toBe(false);
  });

  test('does not check a name or a password beyond the maximum length', async () => {
    const client = await atLogin();
    expect(await client.post('/login/', { username: `a${'\u0300'.repeat(254)}`, password: 'x' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('no more than 254 characters'),
    });
    expect(await client.post('/login/', { username: 'mia', password: 'x'.repeat(1025) })).toMatchObject({
      status: 400,
      text: expect.stringContaining('no more than 1024 characters'),
    });
    expect(await client.post('/login/', { username: `a${'\u0300'.repeat(500_000)}`, password: 'x' })).toMatchObject({
      status: 413,
    });
  });

  test('locks after too many wrong passwords, like every other login', async () => {
    await server.addPerson({ username: 'target', password: 'red horse 9' });
    const client = await atLogin();
    for (let i = 0; i < 7; i += 1) await client.post('/login/', { username: 'target', password: 'wrong' });
    expect(await client.post('/login/', { username: 'target', password: 'red horse 9' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('locked'),
    });
    const { rows } = await server.access.pool.query<{ type: string; is_success: boolean }>(
      "SELECT type, is_success FROM access.login_logs WHERE username = 'target'",
    );
    expect(rows).toEqual(Array.from({ length: 8 }, () => ({ type: 'web', is_success: false })));
  });

  test('ends the previous session of the browser', async () => {
    const client = new FormClient(server);
    await client.logIn('mia', 'blue horse 7');
    const before = new FormClient(server);
    for (const [name, value] of client.cookies) before.cookies.set(name, value);
    // The login page, opened earlier in another tab.
    const tab = await atLogin();
    client.cookies.set('svc_loginform', tab.cookies.get('svc_loginform')!);
    expect(
      await client.post('/login/', {
        username: 'leo',
        password: 'green horse 8',
        csrfmiddlewaretoken: tab.cookies.get('svc_loginform')!,
      }),
    ).toMatchObject({ status: 303 });
    expect(await client.get('/settings/')).toMatchObject({ text: expect.stringContaining('<strong>leo</strong>') });
    expect(await before.get('/settings/')).toMatchObject({ status: 303 });
  });

  test('is reachable with a stale session', async () => {
    const client = new FormClient(server);
    client.cookies.set('svc_sessionid', 'x'.repeat(36));
    expect(await client.logIn('mia', 'blue horse 7')).toMatchObject({ status: 303 });
  });
});

describe('a page of another site cannot log in a user', () => {
  test.each<[string, Record<string, string>, Record<string, string>]>([
    ['without the token', { csrfmiddlewaretoken: '' }, {}],
    ['with another token', { csrfmiddlewaretoken: 'x'.repeat(43) }, {}],
    ['from another host', {}, { Origin: 'http://elsewhere.invalid' }],
    ['from nowhere', {}, { Origin: 'null' }],
    ['from another site', {}, { 'Sec-Fetch-Site': 'cross-site' }],
  ])('%s', async (_reason, fields, headers) => {
    const client = await atLogin();
    const answer = await client.post('/login/', { ...right, ...fields }, headers);
    expect(answer).toMatchObject({ status: 403, text: expect.stringContaining('This form was open for too long') });
    expect(client.cookies.has('svc_sessionid')).toBe(false);
  });

  test('without the cookie', async () => {
    const client = await atLogin();
    client.cookies.clear();
    expect(await client.post('/login/', right)).toMatchObject({ status: 403 });
  });

  test('except by our own page', async () => {
    const client = await atLogin();
    expect(await client.post('/login/', right, { Origin: server.url, 'Sec-Fetch-Site': 'same-origin' })).toMatchObject({
      status: 303,
    });
  });

  test('the form in a second tab does not invalidate the first one', async () => {
    const client = await atLogin();
    const token = client.cookies.get('svc_loginform')!;
    await client.get('/login/');
    expect(await client.post('/login/', { ...right, csrfmiddlewaretoken: token })).toMatchObject({ status: 303 });
  });
});

describe('logging out', () => {
  test('ends the session, and is recorded in the audit', async () => {
    const client = new FormClient(server);
    await client.logIn('mia', 'blue horse 7');
    const held = new Map(client.cookies);
    expect(await client.post('/logout/')).toMatchObject({ status: 303, headers: { location: '/login/?done=logout' } });
    expect([...client.cookies.keys()]).toEqual([]);
    expect(await client.get('/login/?done=logout')).toMatchObject({
      text: expect.stringContaining('You are logged out.'),
    });
    const attacker = new FormClient(server);
    for (const [name, value] of held) attacker.cookies.set(name, value);
    expect(await attacker.get('/settings/')).toMatchObject({ status: 303 });
    const { rows } = await server.access.pool.query('SELECT action FROM access.operate_logs WHERE user_id = $1', [mia]);
    expect(rows).toContainEqual({ action: 'revoke' });
  });

  test('is refused for a page of another site', async () => {
    const client = new FormClient(server);
    await client.logIn('mia', 'blue horse 7');
    expect(await client.post('/logout/', {}, { Origin: 'http://elsewhere.invalid' })).toMatchObject({
      status: 403,
      text: expect.stringContaining('A page of another address'),
    });
    expect(await client.post('/logout/', { csrfmiddlewaretoken: 'x' })).toMatchObject({
      status: 403,
      text: expect.stringContaining('This form is no longer valid'),
    });
    expect(await client.get('/settings/')).toMatchObject({ status: 200 });
  });

  test('without a session redirects to the login', async () => {
    const { status, headers } = await new FormClient(server).post('/logout/');
    expect([status, headers.location, headers['set-cookie']]).toEqual([303, '/login/?done=logout', undefined]);
  });
});

describe('a login for a page of another origin', () => {
  const frontEnd = 'https://app.example.com';
  let allowing: PageTest;
  beforeAll(async () => {
    allowing = await startPageTest({ allowedOrigins: [frontEnd] });
    await allowing.addPerson({ username: 'mia', password: 'blue horse 7' });
  });
  afterAll(() => allowing.stop());

  test('continues there if the administrator allows it, and never elsewhere', async () => {
    const client = new FormClient(allowing);
    const { headers } = await client.get('/login/');
    expect(headers['content-security-policy']).toContain(`form-action 'self' ${frontEnd};`);
    const login = await client.post('/login/', { ...right, next: `${frontEnd}/posts?page=2` });
    expect(login).toMatchObject({ status: 303, headers: { location: `${frontEnd}/posts?page=2` } });
    for (const next of ['https://elsewhere.invalid/', `${frontEnd}.elsewhere.invalid/`])
      expect(await client.get(`/login/?next=${encodeURIComponent(next)}`)).toMatchObject({
        status: 303,
        headers: { location: '/settings/' },
      });
  });
});
