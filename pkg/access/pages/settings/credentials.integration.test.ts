import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startPageTest, type PageTest } from '../pagetest/start-page-test.ts';

let server: PageTest;
beforeAll(async () => {
  server = await startPageTest();
});
afterAll(() => server.stop());

const secretsOf = (text: string): string[] =>
  Array.from(text.matchAll(/class="secret"[^>]*>([^<]*)</g), (match) => match[1]!);

describe('access keys', () => {
  test('are created, with the secret in that response only', async () => {
    const { id, client } = await server.newUser();
    const made = await client.post('/settings/access-keys/', { ip_group: '10.0.0.0/8\r\n192.0.2.7' });
    expect(made).toMatchObject({
      status: 200,
      headers: { 'cache-control': 'no-store' },
      text: expect.stringContaining('10.0.0.0/8, 192.0.2.7'),
    });
    expect(secretsOf(made.text)).toEqual([
      expect.stringMatching(/^[\da-f-]{36}$/),
      expect.stringMatching(/^[0-9A-Za-z]{36}$/),
    ]);
    const [keyId, secret] = secretsOf(made.text);
    const reloaded = await client.get('/settings/access-keys/');
    expect(reloaded.text).toContain(keyId);
    expect(reloaded.text).not.toContain(secret);
    expect(JSON.stringify(server.logs)).not.toContain(secret);
    expect(await server.auditOf(id)).toEqual(['create access_key']);
  });

  test('are disabled, enabled, changed and deleted', async () => {
    const { id, client } = await server.newUser();
    const [keyId] = secretsOf((await client.post('/settings/access-keys/', { ip_group: '*' })).text);
    const path = `/settings/access-keys/${keyId}/`;
    expect(await client.post(path, { is_active: 'false' })).toMatchObject({
      status: 303,
      headers: { location: '/settings/access-keys/?done=saved' },
    });
    expect(await client.get('/settings/access-keys/?done=saved')).toMatchObject({
      text: expect.stringContaining('>disabled<'),
    });
    await client.post(path, { is_active: 'true' });
    expect(await client.post(path, { ip_group: '2001:db8::/32' })).toMatchObject({ status: 303 });
    expect(await client.get('/settings/access-keys/')).toMatchObject({
      text: expect.stringMatching(/>active<[^]*2001:db8::\/32/),
    });
    expect(await client.post(path, { ip_group: 'nowhere' })).toMatchObject({
      status: 400,
      text: expect.stringContaining('role="alert"'),
    });
    expect(await client.post(path, { action: 'delete' })).toMatchObject({
      status: 303,
      headers: { location: '/settings/access-keys/?done=deleted' },
    });
    expect(await client.get('/settings/access-keys/?done=deleted')).toMatchObject({
      text: expect.stringContaining('You have no access keys.'),
    });
    expect(await client.post(path, { action: 'delete' })).toMatchObject({
      status: 404,
      text: expect.stringContaining('There is no such key any more.'),
    });
    expect(await server.auditOf(id)).toEqual([
      'create access_key',
      'update access_key',
      'update access_key',
      'update access_key',
      'delete access_key',
    ]);
  });

  test("another user's key is treated as missing", async () => {
    const { client } = await server.newUser();
    const [keyId] = secretsOf((await client.post('/settings/access-keys/')).text);
    const { client: other } = await server.newUser();
    await other.get('/settings/access-keys/');
    for (const fields of [{ action: 'delete' }, { is_active: 'false' }])
      expect(await other.post(`/settings/access-keys/${keyId}/`, fields)).toMatchObject({ status: 404 });
    expect(await client.get('/settings/access-keys/')).toMatchObject({ text: expect.stringMatching(/>active</) });
  });

  test('are limited to ten, and to valid addresses', async () => {
    const { client } = await server.newUser();
    expect(await client.post('/settings/access-keys/', { ip_group: '<nowhere>' })).toMatchObject({
      status: 400,
      text: expect.stringMatching(/ip_group-wrong[^]*&lt;nowhere&gt;<\/textarea>/),
    });
    for (let i = 0; i < 10; i += 1) await client.post('/settings/access-keys/');
    expect(await client.post('/settings/access-keys/')).toMatchObject({
      status: 400,
      text: expect.stringContaining('You have 10 access keys already'),
    });
  });
});

describe('personal tokens', () => {
  test('are created, and shown in that response only', async () => {
    const { id, client } = await server.newUser();
    const made = await client.post('/settings/personal-tokens/', {
      displayName: '<backup>',
      expiresAt: '30',
      scope: 'all',
    });
    const [token, ...more] = secretsOf(made.text);
    expect({ token, more }).toEqual({ token: expect.stringMatching(/^pat_[0-9A-Za-z]{36}$/), more: [] });
    const reloaded = await client.get('/settings/personal-tokens/');
    expect(reloaded.text).toContain('&lt;backup&gt;');
    expect(reloaded.text).not.toContain(token);
    expect(JSON.stringify(server.logs)).not.toContain(token);
    const { rows } = await server.access.pool.query(
      "SELECT roles, expires > now() + interval '29 days' AND expires < now() + interval '31 days' AS is_right FROM access.personal_tokens WHERE user_id = $1",
      [id],
    );
    expect(rows).toEqual([{ roles: null, is_right: true }]);
    expect(await server.auditOf(id)).toEqual(['create personal_token']);
  });

  test('can be limited to roles', async () => {
    const { id, client } = await server.newUser();
    await client.post('/settings/personal-tokens/', {
      displayName: '',
      expiresAt: '',
      scope: 'roles',
      'role:view': 'on',
      'role:edit': 'on',
    });
    expect(await client.get('/settings/personal-tokens/')).toMatchObject({
      text: expect.stringMatching(/<dd>view, edit<\/dd>[^]*<dt>Expires<\/dt><dd>never<\/dd>/),
    });
    const { rows } = await server.access.pool.query(
      'SELECT roles, expires FROM access.personal_tokens WHERE user_id = $1',
      [id],
    );
    expect(rows).toEqual([{ roles: ['view', 'edit'], expires: null }]);
  });

  test.each([
    ['no role is chosen', { scope: 'roles', expiresAt: '30' }, 'roles'],
    ['it is unclear whether roles are meant', { scope: 'all', 'role:view': 'on', expiresAt: '30' }, 'roles'],
    ['the user does not have the role', { scope: 'roles', 'role:admin': 'on', expiresAt: '30' }, 'roles'],
    ['the time is invalid', { scope: 'all', expiresAt: '-1' }, 'expiresAt'],
    ['the text is too long', { displayName: 'x'.repeat(300), scope: 'all', expiresAt: '30' }, 'displayName'],
  ])('are not created if %s', async (_reason, fields, field) => {
    const { id, client } = await server.newUser();
    const { status, text } = await client.post('/settings/personal-tokens/', fields);
    expect([400, 422]).toContain(status);
    expect(text).toContain(`id="${field}-wrong"`);
    expect(secretsOf(text)).toEqual([]);
    expect(await server.auditOf(id)).toEqual([]);
  });

  test('are revoked, restored and deleted', async () => {
    const { id, client } = await server.newUser();
    const { text } = await client.post('/settings/personal-tokens/', { scope: 'all', expiresAt: '7' });
    const path = /action="(\/settings\/personal-tokens\/[^"]+\/)"/.exec(text)![1]!;
    for (const [action, shown] of [
      ['revoke', '>revoked<'],
      ['restore', '>active<'],
      ['remove', 'You have no personal tokens.'],
    ] as const) {
      expect(await client.post(path, { action })).toMatchObject({
        status: 303,
        headers: { location: `/settings/personal-tokens/?done=${action}` },
      });
      expect(await client.get('/settings/personal-tokens/')).toMatchObject({ text: expect.stringContaining(shown) });
    }
    expect(await client.post(path, { action: 'remove' })).toMatchObject({
      status: 404,
      text: expect.stringContaining('role="alert"'),
    });
    for (const action of ['constructor', 'list', ''])
      expect(await client.post(path, { action })).toMatchObject({ status: 400 });
    expect(await server.auditOf(id)).toEqual([
      'create personal_token',
      'revoke personal_token',
      'restore personal_token',
      'delete personal_token',
    ]);
  });

  test("another user's token is treated as missing", async () => {
    const { client } = await server.newUser();
    const { text } = await client.post('/settings/personal-tokens/', { scope: 'all', expiresAt: '7' });
    const path = /action="(\/settings\/personal-tokens\/[^"]+\/)"/.exec(text)![1]!;
    const { client: other } = await server.newUser();
    await other.get('/settings/personal-tokens/');
    for (const action of ['revoke', 'restore', 'remove'])
      expect(await other.post(path, { action })).toMatchObject({ status: 404 });
  });
});
