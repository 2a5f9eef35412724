import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccessAnswer } from '../accesstest/start-access-test.ts';
import { defaultOrgId } from '../orgs/organization.ts';
import { startTestUsers, type TestUsers } from './start-test-users.ts';

const path = '/api/v1/users/users/';
const profile = '/api/v1/users/profile/';
const password = 'a quiet heron at dusk';
const fresh = 'another bird at dawn';

let fixtures: TestUsers;
let admin: string;
let mia: string;
let keyId: string;
beforeAll(async () => {
  fixtures = await startTestUsers();
});
beforeEach(async () => {
  const { server, parts } = fixtures;
  await server.access.pool.query('TRUNCATE access.users, access.operate_logs CASCADE');
  admin = await server.addUser({
    username: 'admin',
    systemRoles: ['SystemAdmin'],
    orgRoles: { [defaultOrgId]: ['OrgUser'] },
  });
  mia = await server.addUser({
    username: 'mia',
    passwordHash: await parts.hasher.hash(password),
    orgRoles: { [defaultOrgId]: ['OrgUser'] },
  });
  for (const user of [mia, admin]) await give(user);
  const { rows } = await server.access.pool.query<{ id: string }>(
    'SELECT id FROM access.access_keys WHERE user_id = $1',
    [mia],
  );
  keyId = rows[0]!.id;
});
afterAll(() => fixtures.server.stop());

const send = (method: string, id: string, body?: unknown): Promise<AccessAnswer> =>
  fixtures.server.send(method, `${path}${id}/`, { as: admin, body });
const login = (username: string, secret: string) =>
  fixtures.parts.login.login({ username, password: secret, address: '192.0.2.1', userAgent: '', type: 'api' });
const actions = async (): Promise<string[]> => {
  const { rows } = await fixtures.server.access.pool.query<{ line: string }>(
    "SELECT concat_ws(' ', username, action, resource_type, resource, detail) AS line FROM access.operate_logs ORDER BY id",
  );
  return rows.map(({ line }) => line.trim());
};

/** Inserts one credential of each kind, without any checks. */
async function give(userId: string): Promise<void> {
  const { pool } = fixtures.server.access;
  const sealed = "decode('01' || repeat('ab', 6) || repeat('00', 40), 'hex')";
  await pool.query("INSERT INTO access.key_checks (key_id, sealed) VALUES ('abababababab', '') ON CONFLICT DO NOTHING");
  await pool.query(`INSERT INTO access.access_keys (id, user_id, secret) VALUES (gen_random_uuid(), $1, ${sealed})`, [
    userId,
  ]);
  await pool.query(
    `INSERT INTO access.private_tokens (user_id, secret, lookup) VALUES ($1::text::uuid, ${sealed}, $1::text::bytea)`,
    [userId],
  );
  for (const [name, revoked] of [
    ['one', null],
    ['two', null],
    ['old', new Date(0)],
  ]) {
    await pool.query(
      "INSERT INTO access.personal_tokens (user_id, username, name, hash, revoked) VALUES ($1::text::uuid, 'x', $2::text, sha256(($1::text || $2::text)::bytea), $3)",
      [userId, name, revoked],
    );
  }
}
/** Numbers of valid credentials: keys, private tokens, personal tokens. */
async function left(userId: string): Promise<number[]> {
  const { rows } = await fixtures.server.access.pool.query<{ counts: number[] }>(
    `SELECT ARRAY[(SELECT count(*) FROM access.access_keys WHERE user_id = $1), (SELECT count(*) FROM access.private_tokens WHERE user_id = $1),
      (SELECT count(*) FROM access.personal_tokens WHERE user_id = $1 AND revoked IS NULL)]::integer[] AS counts`,
    [userId],
  );
  return rows[0]!.counts;
}
const ended = (who: string): string[] =>
  ['one', 'two'].map((name) => `${who} revoke personal_token ${name} of mia, with a new password`);

describe('other credentials, with a new password', () => {
  test.each(['PATCH', 'PUT'])(
    'end by default if another user sets it (%s), each recorded in the audit, and only those of that user',
    async (method) => {
      expect(
        (await send(method, mia, { username: 'mia', name: 'mia', email: 'mia@example.com', password: fresh })).status,
      ).toBe(200);
      expect(await left(mia)).toEqual([0, 0, 0]);
      expect(await left(admin)).toEqual([1, 1, 2]);
      const [, ...rows] = (await actions()).toReversed();
      expect(rows.toSorted()).toEqual([
        `admin delete access_key ${keyId} of mia, with a new password`,
        'admin delete private_token mia of mia, with a new password',
        ...ended('admin'),
      ]);
      expect(await login('mia', fresh)).toMatchObject({ id: mia });
    },
  );

  test('stay if the request asks for it, and if no password is set', async () => {
    expect((await send('PATCH', mia, { password: fresh, revoke_credentials: false })).status).toBe(200);
    expect((await send('PATCH', mia, { comment: 'x' })).status).toBe(200);
    expect((await send('PATCH', mia, { comment: 'x', revoke_credentials: false })).status).toBe(200);
    expect(await left(mia)).toEqual([1, 1, 2]);
  });

  test.each([
    ['without a password', { revoke_credentials: true }],
    ['with a value that is not a boolean', { password: fresh, revoke_credentials: 'perhaps' }],
  ])('are not ended %s: 400 by field', async (_reason, body) => {
    expect(await send('PATCH', mia, body)).toMatchObject({
      status: 400,
      json: { revoke_credentials: [expect.any(String)] },
    });
    expect(await left(mia)).toEqual([1, 1, 2]);
    expect(await login('mia', password)).toMatchObject({ id: mia });
  });

  test('of the caller end if the request asks for it: in the profile, and as an administrator', async () => {
    const passwords = { old_password: password, new_password: fresh, new_password_again: fresh };
    const change = (body: object): Promise<AccessAnswer> =>
      fixtures.server.send('PUT', `${profile}password/`, { as: mia, body });
    expect((await change(passwords)).status).toBe(200);
    expect(await left(mia)).toEqual([1, 1, 2]);
    expect(
      (
        await change({
          old_password: fresh,
          new_password: password,
          new_password_again: password,
          revoke_credentials: true,
        })
      ).status,
    ).toBe(200);
    expect(await left(mia)).toEqual([0, 0, 0]);
    expect(await actions()).toEqual(expect.arrayContaining(ended('mia')));
    expect((await send('PATCH', admin, { password: fresh })).status).toBe(200);
    expect(await left(admin)).toEqual([1, 1, 2]);
    expect((await send('PATCH', admin, { password, revoke_credentials: true })).status).toBe(200);
    expect(await left(admin)).toEqual([0, 0, 0]);
  });

  test('stay if the change is refused', async () => {
    expect((await send('PATCH', mia, { password: fresh, email: 'admin@example.com' })).status).toBe(400);
    expect(await left(mia)).toEqual([1, 1, 2]);
  });
});
