import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccessAnswer, AccessReplica } from '../accesstest/start-access-test.ts';
import type { TestUser } from '../accesstest/add-user.ts';
import { defaultOrgId } from '../orgs/organization.ts';
import { startTestUsers, type TestUsers } from './start-test-users.ts';

const path = '/api/v1/users/users/';
const profile = '/api/v1/users/profile/';
const password = 'a quiet heron at dusk';

let fixtures: TestUsers;
let other: AccessReplica;
let otherOrg: string;
let admin: string;

beforeAll(async () => {
  fixtures = await startTestUsers({
    isNamedByBinding: (username) =>
      username === 'unknowable' ? Promise.reject(new Error('away')) : username.toLowerCase() === 'bound',
  });
  other = await fixtures.server.startReplica();
  const { rows } = await fixtures.server.access.pool.query<{ id: string }>(
    "INSERT INTO access.organizations (name, name_key) VALUES ('Other', 'other') RETURNING id",
  );
  otherOrg = rows[0]!.id;
});
beforeEach(async () => {
  await fixtures.server.access.pool.query('TRUNCATE access.users, access.login_failures, access.operate_logs CASCADE');
  admin = await add({ username: 'admin', systemRoles: ['SystemAdmin'], orgRoles: { [defaultOrgId]: ['OrgUser'] } });
});
afterAll(() => fixtures.server.stop());

const add = (user: TestUser): Promise<string> => fixtures.server.addUser(user);
const member = (username: string): Promise<string> => add({ username, orgRoles: { [defaultOrgId]: ['OrgUser'] } });
const send = (
  method: string,
  id: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<AccessAnswer> =>
  fixtures.server.send(method, `${path}${id === '' ? '' : `${id}/`}`, { as: admin, body, headers });
const create = (body: object, as = admin, headers: Record<string, string> = {}): Promise<AccessAnswer> =>
  fixtures.server.send('POST', path, { as, body, headers });
const actions = async (): Promise<string[]> => {
  const { rows } = await fixtures.server.access.pool.query<{ line: string }>(
    "SELECT concat_ws(' ', username, action, resource_type, resource, detail) AS line FROM access.operate_logs ORDER BY id",
  );
  return rows.map(({ line }) => line.trim());
};
const login = (username: string, secret: string) =>
  fixtures.parts.login.login({ username, password: secret, address: '192.0.2.1', userAgent: '', type: 'api' });

describe('a new user', () => {
  const mia = { username: 'Mia', name: ' Mia M. ', email: 'mia@example.com', password };

  test('is a member of the organization, and can log in', async () => {
    const answer = await create({
      ...mia,
      date_expired: '2095-01-01T00:00:00+08:00',
      comment: 'two\nlines',
      groups: ['writers', 'writers '],
      role: 'ignored',
    });
    expect(answer).toMatchObject({
      status: 201,
      json: {
        username: 'Mia',
        name: 'Mia M.',
        is_valid: true,
        created_by: 'admin',
        date_expired: '2094-12-31T16:00:00.000Z',
        comment: 'two\nlines',
        groups: ['writers'],
        system_roles: [{ name: 'SystemUser' }],
        org_roles: [{ name: 'OrgUser' }],
      },
    });
    expect(answer.text).not.toContain('argon2');
    expect(await login('MIA', password)).toMatchObject({ username: 'Mia' });
    expect(await login('Mia@Example.com', password)).toMatchObject({ username: 'Mia' });
    expect(await actions()).toEqual(['admin create user Mia']);
  });

  test('of ROOT is in no organization', async () => {
    expect(await create(mia, admin, { 'X-SVC-ORG': 'ROOT' })).toMatchObject({ status: 201, json: { org_roles: [] } });
    expect(await send('GET', 'mia')).toMatchObject({ status: 404, json: { code: 'not_found' } });
    expect(await send('GET', 'MIA', undefined, { 'X-SVC-ORG': 'ROOT' })).toMatchObject({
      status: 200,
      json: { username: 'Mia', system_roles: [{ name: 'SystemUser' }] },
    });
  });

  test('may be sent as a form', async () => {
    const answer = await fixtures.server.send('POST', path, {
      as: admin,
      body: 'username=f&name=F&email=f%40example.com&is_active=false&date_expired=',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    });
    expect(answer).toMatchObject({ status: 201, json: { username: 'f', is_active: false, date_expired: null } });
  });

  test('may be created by an administrator of the organization, in it, and without groups', async () => {
    const orgAdmin = await add({ username: 'boss', orgRoles: { [otherOrg]: ['OrgAdmin'] } });
    expect(await create(mia, orgAdmin)).toMatchObject({
      status: 201,
      json: { created_by: 'boss', system_roles: [{ name: 'SystemUser' }], org_roles: [{ name: 'OrgUser' }] },
    });
    expect(await create({ ...mia, username: 'b', email: 'b@example.com', groups: [] }, orgAdmin)).toMatchObject({
      status: 201,
    });
    expect(
      await create({ ...mia, username: 'c', email: 'c@example.com', groups: ['writers'] }, orgAdmin),
    ).toMatchObject({
      status: 403,
    });
    expect(await create({}, orgAdmin, { 'X-SVC-ORG': 'DEFAULT' })).toMatchObject({
      status: 403,
      json: { code: 'permission_denied' },
    });
    expect(await create({}, orgAdmin, { 'X-SVC-ORG': 'ROOT' })).toMatchObject({ status: 403 });
  });

  test('created by an administrator of an organization cannot have a name that may have permissions; one of the system may reuse it', async () => {
    const orgAdmin = await add({ username: 'boss', orgRoles: { [otherOrg]: ['OrgAdmin'] } });
    await member('Old');
    expect((await send('DELETE', 'old')).status).toBe(204);
    const named = (username: string): object => ({ username, name: 'x', email: 'x@example.com' });
    for (const username of ['old', 'OLD', 'ｏｌｄ', 'Bound'])
      expect(await create(named(username), orgAdmin)).toMatchObject({
        status: 400,
        json: { username: ['This field must be unique.'] },
      });
    expect(await create(named('unknowable'), orgAdmin)).toMatchObject({ status: 503, json: { code: 'unavailable' } });
    for (const username of ['OLD', 'bound', 'unknowable'])
      expect((await create({ ...named(username), email: `${username}@example.com` })).status).toBe(201);
    expect((await send('DELETE', 'old')).status).toBe(204);
    expect((await create(named('old'), orgAdmin)).status).toBe(400);
    expect((await create(named('new'), orgAdmin)).status).toBe(201);
  });

  test('with the name of a user who is being deleted is refused, too', async () => {
    const orgAdmin = await add({ username: 'boss', orgRoles: { [otherOrg]: ['OrgAdmin'] } });
    const answers = await Promise.all(
      Array.from({ length: 6 }, async (_, i) => {
        await member(`short${i}`);
        const [, answer] = await Promise.all([
          send('DELETE', `short${i}`),
          other.send('POST', path, {
            as: orgAdmin,
            body: { username: `short${i}`, name: 'x', email: `x${i}@example.com` },
          }),
        ]);
        return answer.status;
      }),
    );
    expect(answers).toEqual(answers.map(() => 400));
  });

  test.each([
    { reason: 'an auditor of the system', user: { systemRoles: ['SystemAuditor'] } },
    { reason: 'an auditor of the organization', user: { orgRoles: { [defaultOrgId]: ['OrgAuditor', 'OrgUser'] } } },
    { reason: 'an ordinary user', user: { orgRoles: { [defaultOrgId]: ['OrgUser'] } } },
  ] as { reason: string; user: Partial<TestUser> }[])('cannot be created by $reason', async ({ user }) => {
    expect(await create(mia, await add({ username: 'caller', ...user }))).toMatchObject({
      status: 403,
      json: { code: 'permission_denied' },
    });
  });

  const wrong: { reason: string; body: object; fields: string[] }[] = [
    { reason: 'missing required fields', body: {}, fields: ['email', 'name', 'username'] },
    {
      reason: 'blank and null values',
      body: { username: ' ', name: '', email: null },
      fields: ['email', 'name', 'username'],
    },
    {
      reason: 'values that are not text',
      body: { username: 1, name: ['x'], email: {} },
      fields: ['email', 'name', 'username'],
    },
    {
      reason: 'everything at once',
      body: {
        username: 'a b',
        name: 'x\u0007',
        email: 'x',
        password: 'short',
        is_active: 'perhaps',
        date_expired: 'soon',
        comment: 'x'.repeat(2001),
        groups: 'g',
      },
      fields: ['comment', 'date_expired', 'email', 'groups', 'is_active', 'name', 'password', 'username'],
    },
    { reason: 'a username in front of an @', body: { ...mia, username: 'mia@home' }, fields: ['username'] },
    { reason: 'an @ of another width', body: { ...mia, username: 'mia＠home' }, fields: ['username'] },
    {
      reason: 'a username that looks like an id',
      body: { ...mia, username: '00000000-0000-0000-0000-000000000001' },
      fields: ['username'],
    },
    { reason: 'a username that is too long', body: { ...mia, username: 'x'.repeat(129) }, fields: ['username'] },
    {
      reason: 'one that becomes too long for an index',
      body: { ...mia, username: 'ﷺ'.repeat(128) },
      fields: ['username'],
    },
    { reason: 'a common password', body: { ...mia, password: 'password123' }, fields: ['password'] },
    { reason: 'a password that is the address', body: { ...mia, password: 'MIA@example.com' }, fields: ['password'] },
    { reason: 'a reserved group', body: { ...mia, groups: ['system:masters'] }, fields: ['groups'] },
    { reason: 'a group of an organization', body: { ...mia, groups: ['ok', ' ORG:x'] }, fields: ['groups'] },
    {
      reason: 'a date without an offset',
      body: { ...mia, date_expired: '2030-01-01T00:00:00' },
      fields: ['date_expired'],
    },
    {
      reason: 'a day that does not exist',
      body: { ...mia, date_expired: '2030-02-30T00:00:00Z' },
      fields: ['date_expired'],
    },
    { reason: 'the year 0', body: { ...mia, date_expired: '0000-01-01T00:00:00Z' }, fields: ['date_expired'] },
  ];
  test.each(wrong)('is refused with every field that is wrong: $reason', async ({ body, fields }) => {
    const answer = await create(body);
    expect([answer.status, Object.keys(answer.json as object).toSorted()]).toEqual([400, fields]);
  });

  test('has a unique username and address, regardless of case', async () => {
    expect((await create(mia)).status).toBe(201);
    expect(await create({ ...mia, username: 'ＭＩＡ', email: 'x@example.com' })).toMatchObject({
      status: 400,
      json: { username: ['This field must be unique.'] },
    });
    expect((await create({ ...mia, username: 'mia', email: 'MIA@EXAMPLE.COM' })).json).toEqual({
      username: ['This field must be unique.'],
      email: ['This field must be unique.'],
    });
  });

  test('is created once by many concurrent requests for one name to two replicas', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 === 0 ? fixtures.server : other).send('POST', path, {
          as: admin,
          body: { ...mia, password: undefined },
        }),
      ),
    );
    expect([201, 400].map((wanted) => answers.filter(({ status }) => status === wanted).length)).toEqual([1, 11]);
    expect(await actions()).toEqual(['admin create user Mia']);
  });
});

describe('one user', () => {
  test('is found by id and by username, only in the organization', async () => {
    const id = await member('mia');
    await add({ username: 'away', orgRoles: { [otherOrg]: ['OrgUser'] } });
    expect(await send('GET', id.toUpperCase())).toMatchObject({
      status: 200,
      json: { id, org_roles: [{ name: 'OrgUser' }] },
    });
    expect(await send('GET', 'MIA')).toMatchObject({ status: 200, json: { id } });
    for (const missing of ['away', 'nobody', '12345678-0000-0000-0000-000000000000', 'x'.repeat(600)])
      expect((await send('GET', missing)).status).toBe(404);
  });

  test('is visible only to those who may list users', async () => {
    const id = await member('mia');
    const auditor = await add({ username: 'eye', orgRoles: { [defaultOrgId]: ['OrgAuditor'] } });
    expect((await fixtures.server.send('GET', `${path}${id}`, { as: auditor })).status).toBe(200);
    expect((await fixtures.server.send('GET', `${path}${id}`, { as: id })).status).toBe(403);
  });

  test('changes only in the fields that were sent', async () => {
    const id = await member('mia');
    expect(
      await send('PATCH', id, { name: 'New', groups: ['writers'], id: 'x', source: 'y', system_roles: [] }),
    ).toMatchObject({
      status: 200,
      json: {
        id,
        username: 'mia',
        name: 'New',
        email: 'mia@example.com',
        groups: ['writers'],
        source: 'local',
        system_roles: [{ name: 'SystemUser' }],
      },
    });
    expect((await fixtures.server.send('GET', `${path}?search=new`, { as: admin })).json).toMatchObject([{ id }]);
    expect(
      await send('PUT', id, {
        username: 'mia',
        name: 'Put',
        email: 'Put@example.com',
        date_expired: '2099-01-01T00:00:00Z',
      }),
    ).toMatchObject({
      status: 200,
      json: { name: 'Put', email: 'Put@example.com', groups: ['writers'], date_expired: '2099-01-01T00:00:00.000Z' },
    });
    expect(await send('PATCH', id, { date_expired: null, is_active: false })).toMatchObject({
      status: 200,
      json: { date_expired: null, is_valid: false },
    });
    expect(await actions()).toEqual([
      'admin update user mia name, groups',
      'admin update user mia name, email, date_expired',
      'admin update user mia is_active, date_expired',
    ]);
  });

  test.each([
    { reason: 'another username', method: 'PATCH', body: { username: 'Mia' }, fields: ['username'] },
    { reason: 'a PUT without all fields', method: 'PUT', body: { name: 'x' }, fields: ['email', 'username'] },
    { reason: 'an address of another user', method: 'PATCH', body: { email: 'ADMIN@example.com' }, fields: ['email'] },
    { reason: 'no address at all', method: 'PATCH', body: { email: '' }, fields: ['email'] },
    { reason: 'a weak password', method: 'PATCH', body: { password: 'mia@example.com' }, fields: ['password'] },
  ])('cannot be given $reason', async ({ method, body, fields }) => {
    const answer = await send(method, await member('mia'), body);
    expect([answer.status, Object.keys(answer.json as object).toSorted()]).toEqual([400, fields]);
  });

  test('is changed, deleted and unblocked only by an administrator of the system: a member here may be an administrator elsewhere', async () => {
    const orgAdmin = await add({ username: 'boss', orgRoles: { [defaultOrgId]: ['OrgAdmin'] } });
    const id = await member('mia');
    for (const [method, at] of [
      ['PUT', id],
      ['PATCH', id],
      ['DELETE', id],
      ['PATCH', `${id}/unblock`],
    ] as const) {
      expect(
        await fixtures.server.send(method, `${path}${at}/`, {
          as: orgAdmin,
          body: { name: 'x', email: 'x@example.com', username: 'mia' },
        }),
      ).toMatchObject({ status: 403 });
    }
  });

  test('with a new password loses all sessions, and logs in with it', async () => {
    const id = await member('mia');
    const session = await fixtures.parts.sessions.create({ userId: id, address: '', userAgent: '' });
    await fixtures.parts.bearerTokens.issue(id);
    expect((await send('PATCH', id, { password })).status).toBe(200);
    expect(await fixtures.parts.sessions.find(session!.token)).toBeUndefined();
    expect((await fixtures.server.access.pool.query('SELECT 1 FROM access.bearer_tokens')).rowCount).toBe(0);
    expect(await login('mia', password)).toMatchObject({ id });
    expect((await actions())[0]).toBe('admin update user mia password');
  });

  test.each([{ is_active: false }, { date_expired: '2020-01-01T00:00:00Z' }])(
    'disabled by %j and enabled again has no earlier session or token',
    async (body) => {
      const id = await member('mia');
      const session = await fixtures.parts.sessions.create({ userId: id, address: '', userAgent: '' });
      await fixtures.parts.bearerTokens.issue(id);
      expect((await send('PATCH', id, body)).status).toBe(200);
      // A login that was in progress.
      expect(await fixtures.parts.sessions.create({ userId: id, address: '', userAgent: '' })).toBeUndefined();
      expect(await fixtures.parts.bearerTokens.issue(id)).toBeUndefined();
      expect((await send('PATCH', id, { is_active: true, date_expired: null })).status).toBe(200);
      expect(await fixtures.parts.sessions.find(session!.token)).toBeUndefined();
      expect((await fixtures.server.access.pool.query('SELECT 1 FROM access.bearer_tokens')).rowCount).toBe(0);
      expect(await fixtures.parts.bearerTokens.issue(id)).toBeDefined();
    },
  );

  test('is deleted with all roles', async () => {
    const id = await member('mia');
    expect(await send('DELETE', id)).toMatchObject({ status: 204, text: '' });
    expect((await send('GET', id)).status).toBe(404);
    expect((await send('DELETE', id)).status).toBe(404);
    expect(await actions()).toEqual(['admin delete user mia']);
  });

  test('who failed too often can log in again once unblocked', async () => {
    const id = await member('mia');
    await send('PATCH', id, { password });
    for (let i = 0; i < 7; i += 1)
      await expect(login(i % 2 === 0 ? 'mia' : 'MIA@example.com', 'wrong')).rejects.toMatchObject({
        reason: 'password_failed',
      });
    await expect(login('mia', password)).rejects.toMatchObject({ reason: 'block_login' });
    expect(await fixtures.server.send('PUT', `${path}mia/unblock`, { as: admin })).toMatchObject({
      status: 200,
      json: { id },
    });
    expect(await login('mia', password)).toMatchObject({ id });
    expect((await actions()).at(-1)).toBe('admin unblock user mia');
  });
});

describe('in a request without an organization', () => {
  test.each<{ reason: string; orgRoles: () => Record<string, ['OrgUser']> }>([
    { reason: 'in another organization', orgRoles: () => ({ [otherOrg]: ['OrgUser'] }) },
    { reason: 'in none', orgRoles: () => ({}) },
  ])('a user $reason is changed, unblocked and deleted', async ({ orgRoles }) => {
    const id = await add({ username: 'away', orgRoles: orgRoles() });
    expect(await send('PATCH', 'away', { comment: 'far' })).toMatchObject({
      status: 200,
      json: { id, comment: 'far' },
    });
    expect(
      await send('PUT', id, { username: 'away', name: 'Away', email: 'away@example.com', password }),
    ).toMatchObject({ status: 200, json: { name: 'Away' } });
    for (let i = 0; i < 7; i += 1)
      await expect(login('away', 'wrong')).rejects.toMatchObject({ reason: 'password_failed' });
    await expect(login('away', password)).rejects.toMatchObject({ reason: 'block_login' });
    expect(await send('PUT', 'away/unblock')).toMatchObject({ status: 200, json: { id } });
    expect(await login('away', password)).toMatchObject({ id });
    expect((await send('PATCH', `${id}/unblock`)).status).toBe(200);
    expect((await send('DELETE', 'away')).status).toBe(204);
    expect((await send('PATCH', 'away/unblock')).status).toBe(404);
    expect(await actions()).toEqual([
      'admin update user away comment',
      'admin update user away name, email, password',
      'admin unblock user away',
      'admin unblock user away',
      'admin delete user away',
    ]);
  });

  test('a request that selects one means it', async () => {
    await add({ username: 'away', orgRoles: { [otherOrg]: ['OrgUser'] } });
    for (const [method, at] of [
      ['PATCH', 'away'],
      ['PUT', 'away/unblock'],
      ['DELETE', 'away'],
    ] as const)
      expect((await send(method, at, {}, { 'X-SVC-ORG': 'DEFAULT' })).status).toBe(404);
    expect((await send('PUT', 'away/unblock', undefined, { 'X-SVC-ORG': 'Other' })).status).toBe(200);
    expect(await actions()).toEqual(['admin unblock user away']);
  });
});

describe('an administrator always remains', () => {
  const removals = [
    { reason: 'delete', method: 'DELETE', body: undefined },
    { reason: 'disable', method: 'PATCH', body: { is_active: false } },
    { reason: 'expire', method: 'PATCH', body: { date_expired: '2020-01-01T00:00:00Z' } },
  ];
  test.each(removals)('an administrator cannot $reason themselves', async ({ method, body }) => {
    await add({ username: 'second', systemRoles: ['SystemAdmin'] });
    expect(await send(method, admin, body)).toMatchObject({ status: 403, json: { code: 'permission_denied' } });
  });

  test.each(removals)('an administrator cannot $reason the last one who can log in', async ({ method, body }) => {
    const gone = await add({ username: 'gone', systemRoles: ['SystemAdmin'] });
    const late = await add({
      username: 'late',
      systemRoles: ['SystemAdmin'],
      orgRoles: { [defaultOrgId]: ['OrgUser'] },
    });
    // The other two are disabled and expired: only the caller is a valid administrator.
    await fixtures.server.access.pool.query('UPDATE access.users SET is_active = false WHERE id = $1', [gone]);
    await fixtures.server.access.pool.query("UPDATE access.users SET date_expired = '2020-01-01' WHERE id = $1", [
      late,
    ]);
    expect((await send('PATCH', admin, { date_expired: '2099-01-01T00:00:00Z' })).status).toBe(403);
    expect((await send(method, 'late', body)).status).toBe(method === 'DELETE' ? 204 : 200);
    expect(await send(method, admin, body)).toMatchObject({ status: 403 });
  });

  test('an administrator who will expire does not count', async () => {
    const temporary = await add({
      username: 'temporary',
      systemRoles: ['SystemAdmin'],
      dateExpired: new Date('2099-01-01T00:00:00Z'),
      orgRoles: { [defaultOrgId]: ['OrgUser'] },
    });
    for (const { method, body } of removals)
      expect((await fixtures.server.send(method, `${path}${admin}/`, { as: temporary, body })).status).toBe(403);
    expect((await send('PATCH', admin, { date_expired: '2099-01-01T00:00:00Z' })).status).toBe(403);
    expect((await send('DELETE', temporary)).status).toBe(204);
  });

  test('an administrator who sends their own record back changes nothing, and is not refused', async () => {
    await fixtures.server.access.pool.query("UPDATE access.users SET date_expired = '2099-01-01' WHERE id = $1", [
      admin,
    ]);
    const { json } = await send('GET', admin);
    expect((await send('PUT', admin, json)).status).toBe(200);
  });

  test.each(removals)('of two who $reason each other concurrently, one stays', async ({ method, body }) => {
    for (let round = 0; round < 4; round += 1) {
      await fixtures.server.access.pool.query('TRUNCATE access.users CASCADE');
      const [a, b] = await Promise.all(
        ['a', 'b'].map((username) =>
          add({ username, systemRoles: ['SystemAdmin'], orgRoles: { [defaultOrgId]: ['OrgUser'] } }),
        ),
      );
      const answers = await Promise.all([
        fixtures.server.send(method, `${path}${b}/`, { as: a, body }),
        other.send(method, `${path}${a}/`, { as: b, body }),
      ]);
      const statuses = answers.map(({ status }) => status);
      // The later caller may fail authentication already.
      expect(statuses.filter((status) => status < 300)).toHaveLength(1);
      expect([401, 403]).toContain(statuses.find((status) => status >= 300));
      const { rows } = await fixtures.server.access.pool.query('SELECT 1 FROM access.principals WHERE is_valid');
      expect(rows).toHaveLength(1);
    }
  });
});

describe("the user's own profile", () => {
  test('is visible to and changed by everybody, in name, address and comment', async () => {
    const id = await add({ username: 'mia', orgRoles: { [otherOrg]: ['OrgUser'] } });
    expect(await fixtures.server.send('GET', profile, { as: id })).toMatchObject({
      status: 200,
      json: { id, username: 'mia', org_roles: [{ org: otherOrg, name: 'OrgUser' }] },
    });
    const body = {
      username: 'eve',
      name: 'Mia',
      comment: 'hi',
      groups: ['system:masters'],
      is_active: false,
      system_roles: ['SystemAdmin'],
      password: 'x',
    };
    expect(await fixtures.server.send('PATCH', profile, { as: id, body })).toMatchObject({
      status: 200,
      json: {
        username: 'mia',
        name: 'Mia',
        comment: 'hi',
        groups: [],
        is_active: true,
        system_roles: [{ name: 'SystemUser' }],
      },
    });
    expect((await fixtures.server.send('PUT', profile, { as: id, body })).json).toEqual({
      email: ['This field is required.'],
    });
    expect(
      (await fixtures.server.send('PUT', profile, { as: id, body: { ...body, email: 'admin@EXAMPLE.com' } })).json,
    ).toEqual({ email: ['This field must be unique.'] });
    expect(await actions()).toEqual(['mia update user mia name, comment']);
  });

  describe('password', () => {
    let mia: string;
    const fresh = 'another bird at dawn';
    beforeEach(async () => {
      mia = await add({ username: 'mia', passwordHash: await fixtures.parts.hasher.hash(password) });
    });
    const change = (body: object, headers: Record<string, string> = {}) =>
      fixtures.server.send('PUT', `${profile}password/`, {
        ...(headers['Cookie'] === undefined ? { as: mia } : {}),
        body,
        headers,
      });
    const right = { old_password: password, new_password: fresh, new_password_again: fresh };

    test('changes, and ends all other sessions, and all Bearer tokens', async () => {
      const [mine, another] = await Promise.all(
        [1, 2].map(() => fixtures.parts.sessions.create({ userId: mia, address: '', userAgent: '' })),
      );
      await fixtures.parts.bearerTokens.issue(mia);
      const cookies = { Cookie: `svc_sessionid=${mine!.token}` };
      expect(await change(right, cookies)).toMatchObject({ status: 403, json: { code: 'csrf_failed' } });
      expect(await change(right, { ...cookies, 'X-CSRFToken': mine!.csrfToken })).toMatchObject({
        status: 200,
        json: { username: 'mia' },
      });
      expect(await fixtures.parts.sessions.find(mine!.token)).toBeDefined();
      expect(await fixtures.parts.sessions.find(another!.token)).toBeUndefined();
      expect((await fixtures.server.access.pool.query('SELECT 1 FROM access.bearer_tokens')).rowCount).toBe(0);
      expect(await login('mia', fresh)).toMatchObject({ id: mia });
      await expect(login('mia', password)).rejects.toMatchObject({ reason: 'password_failed' });
      expect(await actions()).toEqual(['mia change_password user mia']);
    });

    test.each([
      { reason: 'nothing', body: {}, fields: ['new_password', 'new_password_again', 'old_password'] },
      {
        reason: 'two different new passwords',
        body: { ...right, new_password_again: `${fresh} ` },
        fields: ['new_password_again'],
      },
      {
        reason: 'a weak password',
        body: { ...right, new_password: 'mia', new_password_again: 'mia' },
        fields: ['new_password'],
      },
      { reason: 'a wrong old password', body: { ...right, old_password: 'guess' }, fields: ['old_password'] },
      { reason: 'an empty old password', body: { ...right, old_password: '' }, fields: ['old_password'] },
    ])('is not changed by $reason', async ({ body, fields }) => {
      const answer = await change(body);
      expect([answer.status, Object.keys(answer.json as object).toSorted()]).toEqual([400, fields]);
      expect(await login('mia', password)).toMatchObject({ id: mia });
    });

    test('cannot be guessed from a session', async () => {
      for (let i = 0; i < 7; i += 1)
        expect((await change({ ...right, old_password: `guess ${i}` })).json).toEqual({
          old_password: ['This is not your password.'],
        });
      expect(await change(right)).toMatchObject({ status: 400, json: { error: 'block_login' } });
      await expect(login('mia', password)).rejects.toMatchObject({ reason: 'block_login' });
    });

    test('is changed once by two concurrent requests', async () => {
      const answers = await Promise.all(
        ['one more heron', 'two more herons'].map((text) =>
          change({ old_password: password, new_password: text, new_password_again: text }),
        ),
      );
      expect([200, 400].map((wanted) => answers.filter(({ status }) => status === wanted).length)).toEqual([1, 1]);
    });

    test('cannot be changed here if there is none', async () => {
      mia = await add({ username: 'bare' });
      expect(await change(right)).toMatchObject({ status: 400, json: { old_password: [expect.any(String)] } });
    });
  });
});
