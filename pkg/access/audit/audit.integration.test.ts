import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Kysely, PostgresDialect, sql, type CompiledQuery } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import { defaultOrgId, rootOrgId } from '../accesstest/add-user.ts';
import { startAccessTest, type AccessTest } from '../accesstest/start-access-test.ts';
import { Organizations } from '../orgs/organizations.ts';
import { auditOperations } from '../audit-operations.ts';
import { loginLogs, operateLogs } from './log-lists.ts';

const logins = '/api/v1/audits/login-logs/';
const operations = '/api/v1/audits/operate-logs/';
const own = '/api/v1/audits/my-login-logs/';
const otherOrg = '00000000-0000-4000-8000-00000000000a';

let server: AccessTest;
const users: Record<string, string> = {};
beforeAll(async () => {
  server = await startAccessTest({
    operations: ({ access }) => auditOperations({ database: access, organizations: new Organizations(access) }),
  });
  await server.access.pool.query(
    "INSERT INTO access.organizations (id, name, name_key) VALUES ($1, 'Other', 'other')",
    [otherOrg],
  );
  users['admin'] = await server.addUser({ username: 'admin', systemRoles: ['SystemAdmin'] });
  users['auditor'] = await server.addUser({ username: 'auditor', systemRoles: ['SystemAuditor'] });
  users['boss'] = await server.addUser({ username: 'boss', orgRoles: { [defaultOrgId]: ['OrgAdmin'] } });
  users['checker'] = await server.addUser({
    username: 'checker',
    orgRoles: { [defaultOrgId]: ['OrgAuditor'], [otherOrg]: ['OrgUser'] },
  });
  users['mia'] = await server.addUser({ username: 'mia', orgRoles: { [defaultOrgId]: ['OrgUser'] } });
  users['ben'] = await server.addUser({ username: 'ben', orgRoles: { [otherOrg]: ['OrgUser'] } });
});
beforeEach(async () => {
  await server.access.pool.query('TRUNCATE access.login_logs, access.operate_logs');
});
afterAll(() => server.stop());

const login = (username: string, isSuccess = true): Promise<void> =>
  server.audit.recordLogin({
    username,
    userId: users[username],
    type: 'web',
    address: '192.0.2.1',
    userAgent: 'Browser',
    isSuccess,
    ...(isSuccess ? {} : { reason: 'password_failed' }),
  });
const operate = (resource: string, orgId?: string): Promise<void> =>
  server.audit.recordOperation({
    actor: { id: users['admin']!, username: 'admin' },
    credentialId: 'SESSION=s1',
    action: 'create',
    resourceType: 'user',
    resource,
    orgId,
  });
const names = async (path: string, as: string, org?: string): Promise<unknown> => {
  const { status, json } = await server.send('GET', path, {
    as: users[as],
    headers: org === undefined ? {} : { 'X-SVC-ORG': org },
  });
  return status === 200
    ? (json as { username: string; resource?: string }[]).map(({ username, resource = username }) => resource)
    : status;
};

test('rows have the shape of the contract', async () => {
  await login('mia', false);
  await operate('ben', defaultOrgId);
  expect((await server.send('GET', logins, { as: users['admin'] })).json).toEqual([
    {
      id: expect.stringMatching(/^\d+$/),
      username: 'mia',
      user_id: users['mia'],
      type: 'web',
      remote_addr: '192.0.2.1',
      user_agent: 'Browser',
      is_success: false,
      reason: 'password_failed',
      datetime: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  ]);
  expect((await server.send('GET', operations, { as: users['admin'] })).json).toEqual([
    {
      id: expect.any(String),
      username: 'admin',
      user_id: users['admin'],
      action: 'create',
      resource_type: 'user',
      resource: 'ben',
      detail: '',
      remote_addr: '',
      org_id: defaultOrgId,
      request_id: '',
      credential_id: 'SESSION=s1',
      datetime: expect.any(String),
    },
  ]);
});

test('administrators and auditors of the system see all rows, those of an organization its rows, others none', async () => {
  for (const name of ['mia', 'ben', 'nobody']) await login(name);
  await operate('in default', defaultOrgId);
  await operate('in other', otherOrg);
  await operate('nowhere');
  for (const as of ['admin', 'auditor']) {
    for (const org of [undefined, rootOrgId, otherOrg]) {
      expect(await names(logins, as, org)).toEqual(['nobody', 'ben', 'mia']);
      expect(await names(operations, as, org)).toEqual(['nowhere', 'in other', 'in default']);
    }
  }
  for (const as of ['boss', 'checker']) {
    expect(await names(logins, as, 'DEFAULT')).toEqual(['mia']);
    expect(await names(operations, as, 'DEFAULT')).toEqual(['in default']);
    for (const path of [logins, operations]) expect(await names(path, as, rootOrgId)).toBe(403);
  }
  expect(await names(logins, 'checker', otherOrg)).toBe(403);
  for (const path of [logins, operations]) {
    expect(await names(path, 'mia')).toBe(403);
    expect(await names(path, 'admin', 'no such')).toBe(404);
    expect((await server.send('GET', path)).status).toBe(401);
  }
});

test('users see their own logins, and the attempts of others', async () => {
  await login('mia');
  await login('ben');
  await login('mia', false);
  expect((await server.send('GET', own, { as: users['mia'] })).json).toMatchObject([
    { username: 'mia', is_success: false },
    { username: 'mia', is_success: true },
  ]);
});

describe('a list', () => {
  beforeEach(async () => {
    for (const [i, name] of ['mia', 'ben', 'mia', 'nobody'].entries()) {
      await login(name, i !== 2);
      await server.access.pool.query(
        "UPDATE access.login_logs SET datetime = '2026-01-01T00:00:00Z'::timestamptz + $1 * interval '1 day' WHERE id = (SELECT max(id) FROM access.login_logs)",
        [i],
      );
    }
  });

  test.each([
    { query: '', found: ['nobody', 'mia', 'ben', 'mia'], reason: 'the newest first' },
    { query: '?order=datetime', found: ['mia', 'ben', 'mia', 'nobody'], reason: 'the oldest first' },
    { query: '?order=username', found: ['ben', 'mia', 'mia', 'nobody'], reason: 'by name' },
    { query: '?username=mia', found: ['mia', 'mia'], reason: 'of one name' },
    { query: '?is_success=false', found: ['mia'], reason: 'failed ones' },
    { query: '?status=1', found: ['nobody', 'ben', 'mia'], reason: "the others, as JumpServer's clients ask" },
    { query: '?reason=password_failed&type=web', found: ['mia'], reason: 'of a reason and a kind' },
    {
      query: '?date_from=2026-01-02T00:00:00Z&date_to=2026-01-03T01:00:00%2B01:00',
      found: ['mia', 'ben'],
      reason: 'of a time',
    },
    { query: '?unknown=1', found: ['nobody', 'mia', 'ben', 'mia'], reason: 'unknown parameters are ignored' },
  ])('$query is $reason', async ({ query, found }) => {
    expect(await names(`${logins}${query}`, 'admin')).toEqual(found);
  });

  test.each([
    { query: '?order=password', field: 'order' },
    { query: '?is_success=maybe', field: 'is_success' },
    { query: '?date_from=yesterday', field: 'date_from' },
    { query: '?username=a&username=b', field: 'username' },
    { query: '?username=%00', field: 'username' },
    { query: '?search=mia', field: 'search' },
    { query: '?q=mia', field: 'q' },
    { query: '?limit=x', field: 'limit' },
  ])('$query is 400', async ({ query, field }) => {
    expect(await server.send('GET', `${logins}${query}`, { as: users['admin'] })).toMatchObject({
      status: 400,
      json: { [field]: [expect.any(String)] },
    });
  });

  test('is paged', async () => {
    const { json } = await server.send('GET', `${logins}?limit=2&offset=1&order=datetime`, { as: users['admin'] });
    expect(json).toMatchObject({
      count: 4,
      next: expect.stringContaining('offset=3'),
      previous: expect.stringContaining('offset=0'),
      results: [{ username: 'ben' }, { username: 'mia' }],
    });
  });
});

test('a list of any length is returned completely', async () => {
  await server.access.pool.query(
    "INSERT INTO access.login_logs (username, type, remote_addr, user_agent, is_success) SELECT 'u' || i, 'api', '', '', true FROM generate_series(1, 3500) i",
  );
  const { json } = await server.send('GET', logins, { as: users['admin'] });
  expect(new Set((json as { id: string }[]).map(({ id }) => id)).size).toBe(3500);
});

describe('of many rows', () => {
  const someone = '00000000-0000-4000-8000-000000000001';
  beforeEach(async () => {
    const { pool } = server.access;
    await pool.query(`INSERT INTO access.login_logs (username, user_id, type, remote_addr, user_agent, is_success, datetime)
      SELECT 'u', ('00000000-0000-4000-8000-' || lpad((i % 7)::text, 12, '0'))::uuid, 'api', '', '', true, now() - i * interval '1 second' FROM generate_series(1, 20000) i`);
    await pool.query(`INSERT INTO access.operate_logs (username, action, resource_type, resource, org_id, datetime)
      SELECT username, 'create', 'user', 'x', user_id, datetime FROM access.login_logs`);
    await pool.query('ANALYZE access.login_logs, access.operate_logs');
  });

  test.each([
    { reason: 'of all', list: loginLogs, scope: sql<boolean>`true`, index: 'login_logs_by_time' },
    {
      reason: 'of a user',
      list: loginLogs,
      scope: sql<boolean>`user_id = ${someone}::uuid`,
      index: 'login_logs_of_users',
    },
    {
      reason: 'of an organization',
      list: operateLogs,
      scope: sql<boolean>`org_id = ${someone}::uuid`,
      index: 'operate_logs_of_organizations',
    },
  ])('a page, and what follows a batch, are found by an index: rows $reason', async ({ list, scope, index }) => {
    const { pool } = server.access;
    const asked: CompiledQuery[] = [];
    const kysely = new Kysely<AccessTables>({
      dialect: new PostgresDialect({ pool }),
      log: ({ query }) => void asked.push(query),
    });
    const source = list({ kysely, query: {}, scope });
    await source.page({ limit: 10, offset: 20 });
    const batches = source.all()[Symbol.asyncIterator]();
    for (let i = 0; i < 2; i += 1) await batches.next();
    const read = asked.filter(({ sql: text }) => /^select (?!count)/.test(text));
    expect(read).toHaveLength(3);
    const plans: string[] = [];
    for (const { sql: text, parameters } of read) {
      const { rows } = await pool.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${text}`, [...parameters]);
      plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    }
    expect(plans.join('\n')).not.toContain('Seq Scan');
    expect(plans[0]).toMatch(new RegExp(`Index (Only )?Scan Backward using ${index}`));
    expect(plans[2]).toContain(index);
    expect(plans[2]).toMatch(/Index Cond: .*ROW\(datetime, id\) </);
  });
});

test('of a flood of wrong credentials only the first are recorded, and everything else is recorded still', async () => {
  for (let i = 0; i < 100; i += 1)
    await server.audit.recordOperation({
      actor: undefined,
      action: 'failed_use',
      resourceType: 'bearer_token',
      resource: '',
      address: '192.0.2.9',
    });
  await operate('ben');
  const { rows } = await server.access.pool.query<{ action: string }>('SELECT action FROM access.operate_logs');
  expect(rows).toHaveLength(61);
});
