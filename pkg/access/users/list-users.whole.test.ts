import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defaultOrgId, rootOrgId } from '../orgs/organization.ts';
import type { OrgRole, SystemRole } from '../http/caller.ts';
import { startTestUsers, type TestUsers } from './start-test-users.ts';
import { userRecord } from './user.ts';

interface Shown {
  id: string;
  username: string;
  name: string;
  org_roles: unknown[];
}

const path = '/api/v1/users/users/';
let fixtures: TestUsers;
let admin: string;
let otherOrg: string;

beforeAll(async () => {
  fixtures = await startTestUsers();
  const { server } = fixtures;
  const { rows } = await server.access.pool.query<{ id: string }>(
    "INSERT INTO access.organizations (name, name_key) VALUES ('Other', 'other') RETURNING id",
  );
  otherOrg = rows[0]!.id;
  admin = await server.addUser({
    username: 'admin',
    name: 'Root of all',
    systemRoles: ['SystemAdmin', 'SystemUser'],
    orgRoles: { [defaultOrgId]: ['OrgAdmin', 'OrgUser'] },
    groups: ['staff'],
  });
  await server.addUser({
    username: 'ZOË',
    name: 'Zoë GmbH',
    email: 'Post@ZOË.example',
    orgRoles: { [defaultOrgId]: ['OrgUser'], [otherOrg]: ['OrgUser', 'OrgAuditor'] },
  });
  await server.addUser({
    username: 'bo',
    name: 'Bo',
    email: null,
    isActive: false,
    orgRoles: { [defaultOrgId]: ['OrgUser'] },
  });
  await server.addUser({
    username: 'cleo',
    name: 'Cleo',
    dateExpired: new Date('2020-01-31T09:30:00.250Z'),
    orgRoles: { [otherOrg]: ['OrgUser'] },
  });
  await server.addUser({ username: 'dee', name: 'Dee' });
});
afterAll(() => fixtures.server.stop());

const root = { 'X-SVC-ORG': 'ROOT' };
const get = (query = '', options: { as?: string; headers?: Record<string, string | string[]> } = {}) =>
  fixtures.server.send('GET', `${path}${query.replaceAll(/[^!-~]/gu, encodeURIComponent)}`, { as: admin, ...options });
const namesOf = (json: unknown): string[] => (json as Shown[]).map(({ username }) => username);

describe('the list', () => {
  test('is a bare array of the members of the organization, by name', async () => {
    const answer = await get();
    expect(answer).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
    });
    expect(namesOf(answer.json)).toEqual(['bo', 'admin', 'ZOË']);
    expect(namesOf((await get('', { headers: { 'X-SVC-ORG': otherOrg } })).json)).toEqual(['cleo', 'ZOË']);
  });

  test('of ROOT has every user, once', async () => {
    expect(namesOf((await get('?order=username', { headers: root })).json)).toEqual([
      'admin',
      'bo',
      'cleo',
      'dee',
      'ZOË',
    ]);
  });

  test('has records of these fields only', async () => {
    const { json } = await get('?username=zoë');
    expect(json).toEqual([
      {
        id: expect.stringMatching(/^[\da-f-]{36}$/),
        username: 'ZOË',
        name: 'Zoë GmbH',
        email: 'Post@ZOË.example',
        is_active: true,
        is_valid: true,
        is_expired: false,
        date_joined: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        date_expired: null,
        last_login: null,
        source: 'local',
        created_by: '',
        comment: '',
        mfa_enabled: false,
        groups: [],
        system_roles: [{ id: '00000000-0000-0000-0000-000000000003', name: 'SystemUser', display_name: 'User' }],
        org_roles: [{ id: '00000000-0000-0000-0000-000000000007', name: 'OrgUser', display_name: 'Organization user' }],
      },
    ]);
    expect(Object.keys((json as object[])[0]!)).toEqual(Object.keys(userRecord.properties));
    expect((await get('?username=admin')).json).toMatchObject([
      { groups: ['staff'], system_roles: [{ name: 'SystemAdmin' }, { name: 'SystemUser' }] },
    ]);
  });

  test('of ROOT names the organization of a role', async () => {
    const { json } = await get('?username=zoë', { headers: root });
    expect((json as Shown[])[0]?.org_roles).toEqual(
      [
        { org: defaultOrgId, name: 'OrgUser' },
        { org: otherOrg, name: 'OrgAuditor' },
        { org: otherOrg, name: 'OrgUser' },
      ].map((role) => expect.objectContaining(role)),
    );
  });

  test('shows who can log in', async () => {
    const { json } = await get('?order=username', { headers: root });
    expect(json).toMatchObject([
      { is_valid: true },
      { is_valid: false, is_active: false, is_expired: false },
      { is_valid: false, is_active: true, is_expired: true, date_expired: '2020-01-31T09:30:00.250Z' },
      {},
      {},
    ]);
  });
});

describe('a page', () => {
  test('has the count, and URLs of its neighbours that keep the other parameters', async () => {
    const url = (offset: number): string =>
      `${fixtures.server.url}${path}?order=username&limit=2&offset=${offset}&oid=ROOT`;
    expect((await get('?order=username&limit=2&offset=2&oid=ROOT')).json).toMatchObject({
      count: 5,
      next: url(4),
      previous: url(0),
      results: [{ username: 'cleo' }, { username: 'dee' }],
    });
    expect((await get('?limit=2&offset=9&oid=ROOT')).json).toMatchObject({ count: 5, next: null, results: [] });
    expect((await get('?limit=5000')).json).toMatchObject({
      count: 3,
      next: null,
      previous: null,
      results: [{}, {}, {}],
    });
  });
});

describe('search and filters', () => {
  const cases: { reason: string; query: string; expected: string[] }[] = [
    { reason: 'case of every script is ignored', query: '?q=OË', expected: ['ZOË'] },
    { reason: 'a wider form of a letter is that letter', query: '?search=ｂｏ', expected: ['bo'] },
    { reason: 'the address is searched', query: '?search=@zoë.EX', expected: ['ZOË'] },
    { reason: 'search and q both hold', query: '?search=dee&q=bo', expected: [] },
    { reason: 'a percent sign is not a pattern', query: '?search=%25', expected: [] },
    { reason: 'an underscore is not a pattern', query: '?search=_', expected: [] },
    { reason: 'a backslash is a literal', query: '?search=%5C', expected: [] },
    { reason: 'username in any case', query: '?username=CLEO', expected: ['cleo'] },
    { reason: 'address in any case', query: '?email=post@zoë.example', expected: ['ZOË'] },
    { reason: 'name as it is', query: '?name=Dee', expected: ['dee'] },
    { reason: 'name in another case is another', query: '?name=dee', expected: [] },
    { reason: 'as Python writes it', query: '?is_active=False', expected: ['bo'] },
    { reason: 'and as a number', query: '?is_active=0', expected: ['bo'] },
    {
      reason: 'an empty one counts as absent',
      query: '?username=&is_active=&search=&order=&id=dead0000-0000-0000-0000-000000000000',
      expected: [],
    },
    { reason: 'unknown parameters are ignored', query: '?username=dee&fields_size=mini', expected: ['dee'] },
  ];
  test.each(cases)('$reason: $query', async ({ query, expected }) => {
    const answer = await get(query, { headers: root });
    expect([answer.status, namesOf(answer.json)]).toEqual([200, expected]);
  });

  test('finds by id', async () => {
    expect(namesOf((await get(`?id=${admin.toUpperCase()}`)).json)).toEqual(['admin']);
  });

  const wrong: { query: string; field: string }[] = [
    { query: '?order=password_hash', field: 'order' },
    { query: '?order=--name', field: 'order' },
    { query: '?order=constructor', field: 'order' },
    { query: '?order=name&order=id', field: 'order' },
    { query: '?id=1', field: 'id' },
    { query: '?is_active=maybe', field: 'is_active' },
    { query: '?limit=0', field: 'limit' },
    { query: '?limit=5&offset=-1', field: 'offset' },
    { query: '?search=a%00b', field: 'search' },
    { query: '?name=%00', field: 'name' },
    { query: `?search=${'x'.repeat(1001)}`, field: 'search' },
  ];
  test.each(wrong)('$field of $#: 400', async ({ query, field }) => {
    expect(await get(query)).toMatchObject({ status: 400, json: { [field]: [expect.any(String)] } });
  });

  test('all errors are reported together', async () => {
    expect(Object.keys((await get('?order=x&id=x&is_active=x')).json as object).toSorted()).toEqual([
      'id',
      'is_active',
      'order',
    ]);
  });
});

describe('access to the list', () => {
  const cases: {
    reason: string;
    system?: SystemRole[];
    org?: OrgRole[];
    in?: string;
    status: number;
    code?: string;
  }[] = [
    { reason: 'an auditor of the system, anywhere', system: ['SystemAuditor'], in: 'Other', status: 200 },
    { reason: 'an auditor of the system, in ROOT', system: ['SystemAuditor'], in: 'root', status: 200 },
    { reason: 'an administrator of the organization', org: ['OrgAdmin'], in: 'other', status: 200 },
    { reason: 'an administrator of the only organization, without naming it', org: ['OrgAdmin'], status: 200 },
    { reason: 'an auditor of the organization', org: ['OrgAuditor', 'OrgUser'], in: 'OTHER', status: 200 },
    {
      reason: 'no administrator of an organization in another',
      org: ['OrgAdmin'],
      in: 'DEFAULT',
      status: 403,
      code: 'permission_denied',
    },
    {
      reason: 'no administrator of an organization in ROOT',
      org: ['OrgAdmin'],
      in: 'ROOT',
      status: 403,
      code: 'permission_denied',
    },
    { reason: 'no ordinary member', org: ['OrgUser'], in: 'Other', status: 403, code: 'permission_denied' },
    { reason: 'nobody without a role there', system: ['SystemUser'], status: 403, code: 'permission_denied' },
    {
      reason: 'nobody in an unknown organization',
      system: ['SystemAdmin'],
      in: 'nowhere',
      status: 404,
      code: 'org_not_found',
    },
    {
      reason: 'nobody in two organizations',
      system: ['SystemAdmin'],
      in: 'Other, DEFAULT',
      status: 400,
      code: 'invalid',
    },
  ];
  test.each(cases)('$reason', async ({ system = [], org = [], in: where, status, code }) => {
    const as = await fixtures.server.addUser({
      username: `caller${Math.random()}`,
      systemRoles: system,
      orgRoles: { [otherOrg]: org },
    });
    const answer = await get('?username=cleo', { as, headers: where === undefined ? {} : { 'X-SVC-ORG': where } });
    expect(answer).toMatchObject({ status, ...(code === undefined ? {} : { json: { code } }) });
    if (status === 200) expect(namesOf(answer.json)).toEqual(['cleo']);
    await fixtures.server.access.pool.query('DELETE FROM access.users WHERE id = $1', [as]);
  });

  test('is refused without a credential', async () => {
    expect(await fixtures.server.send('GET', path)).toMatchObject({ status: 401, json: { code: 'not_authenticated' } });
  });
});

describe('thousands of users', () => {
  const many = 2600;
  let ids: string[];
  beforeAll(async () => {
    const { rows } = await fixtures.server.access.pool.query<{ id: string }>(
      `INSERT INTO access.users (username, username_key, name, email, email_key, search_text, date_joined, last_login, is_active)
        SELECT 'n' || i, 'n' || i, CASE WHEN i % 3 = 0 THEN 'same' ELSE 'name ' || i % 50 END, e, e, 'n' || i,
          timestamptz '2025-01-01' + (i / 2) * interval '1 microsecond', CASE WHEN i % 4 = 0 THEN NULL ELSE timestamptz '2025-06-01' + i % 7 * interval '1 microsecond' END, i % 2 = 0
        FROM generate_series(1, $1) i, LATERAL (SELECT CASE WHEN i % 5 = 0 THEN NULL ELSE 'n' || i || '@example.com' END AS e) emails RETURNING id`,
      [many],
    );
    ids = rows.map(({ id }) => id).toSorted();
  });
  afterAll(async () => {
    await fixtures.server.access.pool.query('DELETE FROM access.users WHERE id = ANY($1)', [ids]);
  });

  test.each(['name', 'email', 'id', 'is_active', 'date_joined', 'last_login'].flatMap((field) => [field, `-${field}`]))(
    'each user is listed once, ordered by %s',
    async (order) => {
      const listed = (await get(`?order=${order}&search=n`, { headers: root })).json as Shown[];
      const seen = new Set(listed.map(({ id }) => id));
      expect(seen.size).toBe(listed.length);
      expect(ids.filter((id) => !seen.has(id))).toEqual([]);
      const paged: Shown[] = [];
      for (let offset = 0; offset < listed.length; offset += 1000) {
        paged.push(
          ...(
            (await get(`?order=${order}&search=n&limit=1000&offset=${offset}`, { headers: root })).json as {
              results: Shown[];
            }
          ).results,
        );
      }
      expect(paged.map(({ id }) => id)).toEqual(listed.map(({ id }) => id));
    },
  );
});

test('an organization can be selected by cookie, header and query, with this precedence', async () => {
  const cookie = { Cookie: `X-SVC-ORG="${otherOrg}"` };
  const listed = async (query: string, headers: Record<string, string>): Promise<string[]> =>
    namesOf((await get(`${query}${query === '' ? '?' : '&'}order=username&username=cleo`, { headers })).json);
  expect(await listed('', cookie)).toEqual(['cleo']);
  expect(await listed('', { ...cookie, 'X-SVC-ORG': 'DEFAULT' })).toEqual([]);
  expect(await listed(`?oid=${rootOrgId}`, { ...cookie, 'X-SVC-ORG': 'DEFAULT' })).toEqual(['cleo']);
});
