import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import {
  startAccessTest,
  type AccessAnswer,
  type AccessReplica,
  type AccessTest,
} from '../accesstest/start-access-test.ts';
import { defaultOrgId, rootOrgId } from '../orgs/organization.ts';
import { Organizations } from '../orgs/organizations.ts';
import { Users } from '../users/users.ts';
import { roleOperations } from './role-operations.ts';

const system = '/api/v1/rbac/system-role-bindings/';
const org = '/api/v1/rbac/org-role-bindings/';
const orgAdminRole = '00000000-0000-0000-0000-000000000005';

let server: AccessTest;
let other: AccessReplica;
let alpha: string;
let admin: string;
let auditor: string;
let orgAdmin: string;
let orgAuditor: string;
let mia: string;

beforeAll(async () => {
  server = await startAccessTest({
    operations: ({ access: database, audit }) =>
      roleOperations({ database, audit, users: new Users(database), organizations: new Organizations(database) }),
  });
  other = await server.startReplica();
  const { rows } = await server.access.pool.query<{ id: string }>(
    "INSERT INTO access.organizations (name, name_key) VALUES ('Alpha', 'alpha') RETURNING id",
  );
  alpha = rows[0]!.id;
});
beforeEach(async () => {
  await server.access.pool.query('TRUNCATE access.users, access.operate_logs CASCADE');
  admin = await server.addUser({
    username: 'admin',
    systemRoles: ['SystemAdmin'],
    orgRoles: { [defaultOrgId]: ['OrgUser'] },
  });
  auditor = await server.addUser({ username: 'auditor', systemRoles: ['SystemAuditor'] });
  orgAdmin = await server.addUser({ username: 'boss', orgRoles: { [alpha]: ['OrgAdmin'] } });
  orgAuditor = await server.addUser({ username: 'eye', orgRoles: { [alpha]: ['OrgAuditor'] } });
  mia = await server.addUser({ username: 'mia', name: 'Mia', orgRoles: { [defaultOrgId]: ['OrgUser'] } });
});
afterAll(() => server.stop());

const get = (path: string, as = admin, headers = {}): Promise<AccessAnswer> =>
  server.send('GET', path, { as, headers });
const post = (path: string, body: object, as = admin): Promise<AccessAnswer> => server.send('POST', path, { as, body });
const titles = (json: unknown): string[] =>
  (json as { user_display: string; role_name: string; org_name?: string }[])
    .map(({ user_display, role_name, org_name }) => `${user_display} ${role_name} ${org_name ?? ''}`.trim())
    .toSorted();
const bindingOf = async (user: string, role: string): Promise<string> => {
  const table = role.startsWith('System') ? 'system_role_bindings' : 'org_role_bindings';
  return (
    await server.access.pool.query<{ id: string }>(`SELECT id FROM access.${table} WHERE user_id = $1 AND role = $2`, [
      user,
      role,
    ])
  ).rows[0]!.id;
};

describe('roles', () => {
  test('are six, and visible to everybody', async () => {
    const { json } = await get('/api/v1/rbac/roles/', mia);
    expect(json).toHaveLength(6);
    expect(json).toContainEqual({
      id: orgAdminRole,
      name: 'OrgAdmin',
      display_name: 'Organization administrator',
      scope: 'org',
      builtin: true,
      permissions: expect.any(Array),
    });
    expect((await get('/api/v1/rbac/roles/?limit=2&offset=5')).json).toMatchObject({
      count: 6,
      next: null,
      results: [{ name: 'OrgUser' }],
    });
    expect((await get(`/api/v1/rbac/roles/${orgAdminRole}`, mia)).json).toMatchObject({ name: 'OrgAdmin' });
    expect((await get('/api/v1/rbac/roles/systemadmin/', mia)).json).toMatchObject({ scope: 'system' });
    expect(await get('/api/v1/rbac/roles/constructor/', mia)).toMatchObject({
      status: 404,
      json: { code: 'not_found' },
    });
    expect(await post('/api/v1/rbac/roles/', {})).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD' } });
  });
});

describe('roles in the system', () => {
  test('are granted and revoked by an administrator, and take effect at the next request', async () => {
    expect((await get(system, mia)).status).toBe(403);
    const answer = await post(system, { user: 'MIA', role: 'systemauditor' });
    expect(answer).toMatchObject({
      status: 201,
      json: {
        scope: 'system',
        user: mia,
        user_display: 'Mia (mia)',
        role: '00000000-0000-0000-0000-000000000002',
        role_name: 'SystemAuditor',
        created_by: 'admin',
      },
    });
    expect(answer.json).not.toHaveProperty('org');
    const { id } = answer.json as { id: string };
    expect((await other.send('GET', `${system}${id}/`, { as: mia })).json).toEqual(answer.json);
    expect(await server.send('DELETE', `${system}${id}`, { as: admin })).toMatchObject({ status: 204, text: '' });
    expect((await get(system, mia)).status).toBe(403);
    expect((await get(`${system}${id}`)).status).toBe(404);
    const { rows } = await server.access.pool.query(
      'SELECT action, resource_type, resource FROM access.operate_logs ORDER BY id',
    );
    expect(rows).toEqual(
      ['create', 'delete'].map((action) => ({
        action,
        resource_type: 'system_role_binding',
        resource: 'mia: SystemAuditor',
      })),
    );
  });

  test('are read by auditors, and written only by administrators', async () => {
    expect(titles((await get(`${system}?user=admin`, auditor)).json)).toEqual(['admin (admin) SystemAdmin']);
    for (const as of [auditor, orgAdmin, mia])
      expect((await post(system, { user: mia, role: 'SystemAdmin' }, as)).status).toBe(403);
    const id = await bindingOf(mia, 'SystemUser');
    expect((await server.send('DELETE', `${system}${id}`, { as: auditor })).status).toBe(403);
    for (const as of [orgAdmin, orgAuditor, mia]) expect((await get(system, as)).status).toBe(403);
    expect((await server.send('PATCH', `${system}${id}`, { as: admin, body: {} })).status).toBe(405);
  });

  test('can be filtered and paged', async () => {
    expect(titles((await get(`${system}?role=SystemUser&user=${mia}`)).json)).toEqual(['Mia (mia) SystemUser']);
    expect((await get(`${system}?user=nobody`)).json).toEqual([]);
    expect((await get(`${system}?limit=2&order=-date_created`)).json).toMatchObject({
      count: 5,
      previous: null,
      next: expect.stringContaining('offset=2'),
    });
    expect((await get(`${system}?role=OrgAdmin&order=user`)).json).toEqual({
      role: [expect.any(String)],
      order: [expect.any(String)],
    });
  });

  test.each([
    { reason: 'nothing', body: {}, fields: ['role', 'user'] },
    { reason: 'a user and a role that do not exist', body: { user: 'nobody', role: 'King' }, fields: ['role', 'user'] },
    { reason: 'a role of organizations', body: { user: 'mia', role: orgAdminRole }, fields: ['role'] },
    { reason: 'values that are not text', body: { user: { id: 1 }, role: ['SystemUser'] }, fields: ['role', 'user'] },
    {
      reason: 'a role that the user already has',
      body: { user: 'mia', role: 'SystemUser' },
      fields: ['non_field_errors'],
    },
  ])('are not granted: $reason', async ({ body, fields }) => {
    const answer = await post(system, body);
    expect([answer.status, Object.keys(answer.json as object).toSorted()]).toEqual([400, fields]);
  });

  test('always keep an administrator who can log in', async () => {
    const gone = await server.addUser({ username: 'gone', systemRoles: ['SystemAdmin'], isActive: false });
    const mine = await bindingOf(admin, 'SystemAdmin');
    expect(await server.send('DELETE', `${system}${mine}`, { as: admin })).toMatchObject({
      status: 403,
      json: { code: 'permission_denied' },
    });
    expect(
      (await server.send('DELETE', `${system}${await bindingOf(gone, 'SystemAdmin')}`, { as: admin })).status,
    ).toBe(204);
    await post(system, { user: mia, role: 'SystemAdmin' });
    const answers = await Promise.all([
      server.send('DELETE', `${system}${mine}`, { as: mia }),
      other.send('DELETE', `${system}${await bindingOf(mia, 'SystemAdmin')}`, { as: admin }),
    ]);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(
      (await server.access.pool.query("SELECT 1 FROM access.system_role_bindings WHERE role = 'SystemAdmin'")).rowCount,
    ).toBe(1);
  });
});

describe('roles in an organization', () => {
  test('are granted and revoked by its administrator, only there', async () => {
    await server.access.pool.query(
      "INSERT INTO access.org_role_bindings (user_id, org_id, role) VALUES ($1, $2, 'OrgAuditor')",
      [mia, alpha],
    );
    const answer = await post(org, { user: 'mia', role: 'OrgUser' }, orgAdmin);
    expect(answer).toMatchObject({
      status: 201,
      json: { scope: 'org', user: mia, role_name: 'OrgUser', org: alpha, org_name: 'Alpha', created_by: 'boss' },
    });
    expect(await post(org, { user: mia, role: orgAdminRole, org: 'alpha' }, orgAdmin)).toMatchObject({ status: 201 });
    expect(await post(org, { user: mia, role: orgAdminRole, org: defaultOrgId }, orgAdmin)).toMatchObject({
      status: 403,
    });
    const { id } = answer.json as { id: string };
    expect((await server.send('DELETE', `${org}${id}`, { as: orgAdmin })).status).toBe(204);
    expect((await server.send('DELETE', `${org}${await bindingOf(admin, 'OrgUser')}`, { as: orgAdmin })).status).toBe(
      404,
    );
    const { rows } = await server.access.pool.query(
      'SELECT action, resource, org_id FROM access.operate_logs ORDER BY id',
    );
    expect(rows).toEqual([
      { action: 'create', resource: 'mia: OrgUser in Alpha', org_id: alpha },
      { action: 'create', resource: 'mia: OrgAdmin in Alpha', org_id: alpha },
      { action: 'delete', resource: 'mia: OrgUser in Alpha', org_id: alpha },
    ]);
  });

  test('are granted by its administrator to members only: other users are treated as missing', async () => {
    for (const role of ['OrgUser', 'King']) {
      const answers = await Promise.all(['mia', mia, 'nobody'].map((user) => post(org, { user, role }, orgAdmin)));
      expect(answers.map(({ status, text }) => [status, text])).toEqual(answers.map(() => [400, answers[2]!.text]));
    }
    expect(titles((await get(`${org}?user=mia`)).json)).toEqual(['Mia (mia) OrgUser DEFAULT']);
  });

  test('are granted everywhere by an administrator of the system', async () => {
    expect(await post(org, { user: mia, role: 'OrgAuditor', org: alpha })).toMatchObject({
      status: 201,
      json: { org: alpha },
    });
    expect(await post(org, { user: mia, role: 'OrgAuditor' })).toMatchObject({
      status: 201,
      json: { org: defaultOrgId },
    });
    expect(
      await server.send('POST', org, {
        as: admin,
        body: { user: mia, role: 'OrgUser' },
        headers: { 'X-SVC-ORG': 'Alpha' },
      }),
    ).toMatchObject({ status: 201, json: { org: alpha } });
  });

  test.each([
    { reason: 'ROOT', body: { user: 'mia', role: 'OrgUser', org: rootOrgId }, fields: ['org'] },
    { reason: 'nowhere, nobody, nothing', body: { user: 'x', role: 'x', org: 'x' }, fields: ['org', 'role', 'user'] },
    { reason: 'a role of the system', body: { user: 'mia', role: 'SystemAdmin', org: 'Alpha' }, fields: ['role'] },
    {
      reason: 'a role that the user already has',
      body: { user: 'mia', role: 'OrgUser', org: 'DEFAULT' },
      fields: ['non_field_errors'],
    },
    { reason: 'null', body: { user: 'mia', role: 'OrgUser', org: null }, fields: ['org'] },
  ])('are not granted: $reason', async ({ body, fields }) => {
    const answer = await post(org, body);
    expect([answer.status, Object.keys(answer.json as object).toSorted()]).toEqual([400, fields]);
  });

  test('cannot be granted by others', async () => {
    for (const as of [auditor, orgAuditor, mia])
      expect((await post(org, { user: mia, role: 'OrgAdmin', org: alpha }, as)).status).toBe(403);
    const id = await bindingOf(orgAdmin, 'OrgAdmin');
    expect((await server.send('DELETE', `${org}${id}`, { as: orgAuditor })).status).toBe(403);
    expect((await server.send('DELETE', `${org}${id}`, { as: auditor })).status).toBe(403);
    expect((await server.send('DELETE', `${org}${id}`, { as: mia })).status).toBe(403);
  });

  test('are read by auditors and administrators, those of an organization only there', async () => {
    const ofAlpha = ['boss (boss) OrgAdmin Alpha', 'eye (eye) OrgAuditor Alpha'];
    const ofDefault = ['Mia (mia) OrgUser DEFAULT', 'admin (admin) OrgUser DEFAULT'];
    for (const as of [admin, auditor])
      expect(titles((await get(org, as)).json)).toEqual([...ofDefault.slice(0, 1), ...ofDefault.slice(1), ...ofAlpha]);
    for (const as of [orgAdmin, orgAuditor]) expect(titles((await get(org, as)).json)).toEqual(ofAlpha);
    expect((await get(org, mia)).status).toBe(403);
    expect(titles((await get(`${org}?org=alpha`)).json)).toEqual(ofAlpha);
    expect(titles((await get(org, admin, { 'X-SVC-ORG': 'DEFAULT' })).json)).toEqual(ofDefault);
    expect(titles((await get(`${org}?org=Alpha`, admin, { 'X-SVC-ORG': 'DEFAULT' })).json)).toEqual(ofAlpha);
    expect(titles((await get(org, admin, { 'X-SVC-ORG': 'ROOT' })).json)).toHaveLength(4);
    expect((await get(`${org}?org=DEFAULT`, orgAdmin)).status).toBe(403);
    expect((await get(org, orgAdmin, { 'X-SVC-ORG': 'DEFAULT' })).status).toBe(403);
    expect((await get(org, admin, { 'X-SVC-ORG': 'nowhere' })).status).toBe(404);
    expect((await get(`${org}?org=nowhere`)).json).toEqual({ org: [expect.any(String)] });
    expect((await get(`${org}${await bindingOf(admin, 'OrgUser')}`, orgAuditor)).status).toBe(404);
    expect((await get(`${org}not-an-id`, orgAuditor)).status).toBe(404);
  });

  test('of a user who is being deleted are refused without an internal error', async () => {
    const rounds = Array.from({ length: 6 }, async (_, i) => {
      const id = await server.addUser({ username: `short${i}` });
      const [answer] = await Promise.all([
        post(org, { user: id, role: 'OrgUser', org: alpha }),
        server.access.pool.query('DELETE FROM access.users WHERE id = $1', [id]),
      ]);
      return answer.status;
    });
    for (const status of await Promise.all(rounds)) expect([201, 400]).toContain(status);
  });
});
