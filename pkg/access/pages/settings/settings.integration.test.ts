import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { FormClient } from '../pagetest/form-client.ts';
import { password, startPageTest, type PageTest } from '../pagetest/start-page-test.ts';

const unknownId = '11111111-1111-4111-8111-111111111111';
const pages = [
  '/settings/',
  '/settings/password/',
  '/settings/access-keys/',
  '/settings/personal-tokens/',
  '/settings/sessions/',
];

let server: PageTest;
beforeAll(async () => {
  server = await startPageTest();
});
afterAll(() => server.stop());

describe('access to the settings', () => {
  test.each(pages)('%s: without a session redirects to the login and back', async (path) => {
    const client = new FormClient(server);
    expect(await client.get(path)).toMatchObject({
      status: 303,
      headers: { location: `/login/?next=${encodeURIComponent(path)}` },
    });
    expect(await client.get(path.slice(0, -1))).toMatchObject({ status: 303 });
  });

  test('the redirect after the login keeps the whole query', async () => {
    const { headers } = await new FormClient(server).get('/settings/sessions/?a=1&b=%26%23+2');
    expect(new URL(headers.location!, 'http://own.example').searchParams.get('next')).toBe(
      '/settings/sessions/?a=1&b=%26%23+2',
    );
  });

  test('a form that was sent after the session ended redirects to its page', async () => {
    const client = new FormClient(server);
    expect(await client.post(`/settings/sessions/${unknownId}/`)).toMatchObject({
      status: 303,
      headers: { location: '/login/?next=%2Fsettings%2Fsessions%2F' },
    });
  });

  test.each([
    '/settings/',
    '/settings/password/',
    '/settings/access-keys/',
    `/settings/access-keys/${unknownId}/`,
    `/settings/sessions/${unknownId}/`,
    '/settings/sessions/others/',
    '/settings/personal-tokens/',
    '/settings/personal-tokens/pat-x/',
  ])('a page of another site changes nothing: POST %s', async (path) => {
    const { id, client } = await server.newUser();
    expect(await client.post(path, { csrfmiddlewaretoken: 'x', name: 'Changed' })).toMatchObject({
      status: 403,
      headers: { 'content-type': 'text/html; charset=utf-8' },
      text: expect.stringContaining('This form is no longer valid'),
    });
    expect(await server.auditOf(id)).toEqual([]);
  });

  test('texts of users are escaped', async () => {
    const { client } = await server.newUser({ name: '"><script>window.broken = 1</script>' });
    const { text } = await client.get('/settings/');
    expect(text).toContain('&quot;&gt;&lt;script&gt;');
    expect(text.split('<script')).toHaveLength(2);
  });
});

describe('the profile', () => {
  test('is saved', async () => {
    const { id, username, client } = await server.newUser();
    expect(
      await client.post('/settings/', {
        name: ' Mia M. ',
        email: 'm@example.com',
        comment: 'two\r\nlines',
        is_active: 'false',
        username: 'other',
      }),
    ).toMatchObject({ status: 303, headers: { location: '/settings/?done=saved' } });
    const { text } = await client.get('/settings/?done=saved');
    for (const part of [
      'Your profile is saved.',
      'value="Mia M."',
      'value="m@example.com"',
      '\ntwo\r\nlines</textarea>',
      `<dd>${username}</dd>`,
    ])
      expect(text).toContain(part);
    expect(await server.auditOf(id)).toEqual(['update user']);
  });

  test('is shown again with its errors', async () => {
    const { client } = await server.newUser();
    await server.newUser({ email: 'taken@example.com' });
    const { status, text } = await client.post('/settings/', { name: '', email: 'TAKEN@example.com', comment: 'kept' });
    expect(status).toBe(400);
    for (const part of [
      '<title>Problem: Profile',
      'role="alert"',
      'id="name-wrong"',
      'aria-invalid="true"',
      'aria-describedby="name-wrong"',
      'autofocus',
      'kept</textarea>',
    ])
      expect(text).toContain(part);
    expect(await client.post('/settings/', { name: 'Mia', email: 'TAKEN@example.com' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('id="email-wrong"'),
    });
  });

  test('does not ask for an e-mail address if there is none', async () => {
    const { client } = await server.newUser({ email: null });
    expect(await client.post('/settings/', { name: 'Mia', email: '', comment: '' })).toMatchObject({ status: 303 });
    expect(await client.post('/settings/', { name: 'Mia', email: 'new@example.com', comment: '' })).toMatchObject({
      status: 303,
    });
    expect(await client.post('/settings/', { name: 'Mia', email: '', comment: '' })).toMatchObject({ status: 400 });
  });
});

describe('the password', () => {
  test('is changed; other sessions end, this one stays', async () => {
    const { id, username, client } = await server.newUser();
    const other = new FormClient(server);
    await other.logIn(username, password);
    const fields = { old_password: password, new_password: 'green horse 9', new_password_again: 'green horse 9' };
    expect(await client.post('/settings/password/', fields)).toMatchObject({
      status: 303,
      headers: { location: '/settings/password/?done=changed' },
    });
    expect(await client.get('/settings/password/?done=changed')).toMatchObject({
      status: 200,
      text: expect.stringContaining('Your password is changed.'),
    });
    expect(await other.get('/settings/')).toMatchObject({ status: 303 });
    expect(await new FormClient(server).logIn(username, password)).toMatchObject({ status: 400 });
    expect(await new FormClient(server).logIn(username, 'green horse 9')).toMatchObject({ status: 303 });
    expect(await server.auditOf(id)).toEqual(['change_password user']);
  });

  test('is changed; a box ends tokens and keys as well, and stays checked if the form is shown again', async () => {
    const { id, client } = await server.newUser();
    const count = async (): Promise<number> =>
      (await server.access.pool.query('SELECT 1 FROM access.access_keys WHERE user_id = $1', [id])).rows.length;
    await client.post('/settings/access-keys/');
    const page = await client.get('/settings/password/');
    expect(page.text).toMatch(
      /<input type="checkbox" id="revoke_credentials" name="revoke_credentials" value="true" ?>/,
    );
    const fields = { old_password: password, new_password: 'green horse 9', new_password_again: 'green horse 9' };
    await client.post('/settings/password/', fields);
    expect(await count()).toBe(1);
    const wrong = await client.post('/settings/password/', { ...fields, revoke_credentials: 'true' });
    expect(wrong).toMatchObject({
      status: 400,
      text: expect.stringMatching(/name="revoke_credentials" value="true" checked/),
    });
    const answer = await client.post('/settings/password/', {
      old_password: 'green horse 9',
      new_password: password,
      new_password_again: password,
      revoke_credentials: 'true',
    });
    expect(answer).toMatchObject({ status: 303, headers: { location: '/settings/password/?done=revoked' } });
    expect(await client.get('/settings/password/?done=revoked')).toMatchObject({
      status: 200,
      text: expect.stringContaining('personal tokens, access keys and the private token'),
    });
    expect(await count()).toBe(0);
    expect(await server.auditOf(id)).toEqual([
      'create access_key',
      'change_password user',
      'delete access_key',
      'change_password user',
    ]);
  });

  test.each([
    [
      'the old one is wrong',
      { old_password: 'red horse 1', new_password: 'green horse 9', new_password_again: 'green horse 9' },
      'old_password',
    ],
    [
      'they differ',
      { old_password: password, new_password: 'green horse 9', new_password_again: 'red horse 1' },
      'new_password_again',
    ],
    ['it is short', { old_password: password, new_password: 'zqx', new_password_again: 'zqx' }, 'new_password'],
    ['it is missing', { old_password: password }, 'new_password'],
  ])('is not changed if %s', async (_reason, fields, field) => {
    const { client } = await server.newUser();
    const { status, text } = await client.post('/settings/password/', fields);
    expect(status).toBe(400);
    expect(text).toContain(`id="${field}-wrong"`);
    for (const sent of Object.values(fields)) expect(text).not.toContain(sent);
  });

  test('cannot be guessed from an open session', async () => {
    const { username, client } = await server.newUser();
    for (let i = 0; i < 7; i += 1)
      await client.post('/settings/password/', {
        old_password: 'wrong',
        new_password: 'green horse 9',
        new_password_again: 'green horse 9',
      });
    expect(
      await client.post('/settings/password/', {
        old_password: password,
        new_password: 'green horse 9',
        new_password_again: 'green horse 9',
      }),
    ).toMatchObject({ status: 400, text: expect.stringContaining('locked') });
    expect(await new FormClient(server).logIn(username, password)).toMatchObject({ status: 400 });
  });
});

describe('sessions', () => {
  test('are listed, and end one by one', async () => {
    const { id, username, client } = await server.newUser();
    const other = new FormClient(server);
    await other.logIn(username, password);
    const { text } = await client.get('/settings/sessions/');
    const [otherId, ...more] = Array.from(
      text.matchAll(/action="\/settings\/sessions\/([\da-f-]{36})\/"/g),
      (match) => match[1]!,
    );
    expect(more).toEqual([]);
    expect(text.split('this one')).toHaveLength(2);
    expect(await client.post(`/settings/sessions/${otherId}/`)).toMatchObject({
      status: 303,
      headers: { location: '/settings/sessions/?done=ended' },
    });
    expect(await other.get('/settings/')).toMatchObject({ status: 303 });
    expect(await client.post(`/settings/sessions/${otherId}/`)).toMatchObject({
      status: 404,
      text: expect.stringContaining('This session has ended already.'),
    });
    expect(await client.post('/settings/sessions/nonsense/')).toMatchObject({ status: 404 });
    expect(await server.auditOf(id)).toEqual(['revoke session']);
  });

  test('all others end at once', async () => {
    const { id, username, client } = await server.newUser();
    const others = [new FormClient(server), new FormClient(server)];
    for (const other of others) await other.logIn(username, password);
    await client.get('/settings/sessions/');
    expect(await client.post('/settings/sessions/others/')).toMatchObject({ status: 303 });
    for (const other of others) expect(await other.get('/settings/')).toMatchObject({ status: 303 });
    expect(await client.get('/settings/sessions/?done=others')).toMatchObject({
      status: 200,
      text: expect.stringContaining('Your other sessions have ended.'),
    });
    expect(await server.auditOf(id)).toEqual(['revoke session']);
  });

  test("another user's session does not end", async () => {
    const { client } = await server.newUser();
    const { id: victim, client: held } = await server.newUser();
    const { rows } = await server.access.pool.query<{ id: string }>(
      'SELECT id FROM access.sessions WHERE user_id = $1',
      [victim],
    );
    await client.get('/settings/sessions/');
    expect(await client.post(`/settings/sessions/${rows[0]!.id}/`)).toMatchObject({ status: 404 });
    expect(await held.get('/settings/')).toMatchObject({ status: 200 });
  });
});

describe('a form', () => {
  test.each<[string, Record<string, string>]>([
    ['/settings/', { name: 'Mallory' }],
    [
      '/settings/password/',
      { old_password: password, new_password: 'green horse 9', new_password_again: 'green horse 9' },
    ],
    ['/settings/sessions/others/', {}],
    ['/settings/access-keys/', {}],
    ['/settings/personal-tokens/', {}],
  ])('%s with the right token is refused for a page of another site', async (path, fields) => {
    const { id, username, client } = await server.newUser();
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ]) {
      await client.get('/settings/');
      expect(await client.post(path, fields, headers)).toMatchObject({
        status: 403,
        text: expect.stringContaining('A page of another address'),
      });
    }
    expect(await server.auditOf(id)).toEqual([]);
    expect(await new FormClient(server).logIn(username, password)).toMatchObject({ status: 303 });
  });
});

describe('a refusal', () => {
  test.each([
    ['GET', '/settings/nothing/', 404, 'There is no such page'],
    ['GET', '/nothing', 404, 'There is no such page'],
    ['DELETE', '/settings/', 405, 'That cannot be done here'],
    ['GET', '/settings/sessions/others/', 405, 'That cannot be done here'],
    ['GET', '/%zz', 400, 'That could not be read'],
  ])('%s %s is shown on a page in a browser', async (method, path, status, title) => {
    const answer = await server.send(method, path, {
      headers: { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
    });
    expect(answer).toMatchObject({
      status,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': expect.stringContaining("default-src 'none'"),
      },
      text: expect.stringContaining(`<h1>${title}</h1>`),
    });
    expect(await server.send(method, path)).toMatchObject({
      status,
      json: { code: expect.any(String), detail: expect.any(String) },
    });
  });

  test('is JSON in the API, for any client', async () => {
    expect(await server.send('GET', '/api/v1/nothing/', { headers: { Accept: 'text/html' } })).toMatchObject({
      status: 404,
      json: { code: 'not_found' },
    });
  });
});
