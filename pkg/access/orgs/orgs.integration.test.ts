import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { setTimeout } from 'node:timers/promises';
import { startAccessTest, type AccessAnswer, type AccessTest } from '../accesstest/start-access-test.ts';
import type { OrgRole, SystemRole } from '../http/caller.ts';
import type { Namespaces } from './namespaces.ts';
import { NameClaims } from '../names/name-claims.ts';
import { OrgNamespaces } from './org-namespaces.ts';
import { orgOperations } from './org-operations.ts';
import { defaultOrgId, rootOrgId } from './organization.ts';
import { Organizations } from './organizations.ts';

const path = '/api/v1/orgs/orgs/';

/** A content platform for organizations: shared by all replicas, and unavailable when a test says so. */
class TestNamespaces implements Namespaces {
  readonly names = new Map<string, string>();
  readonly inUse = new Set<string>();
  isAway = false;
  calls = 0;
  /** Delays answers until it resolves. */
  pause: Promise<void> | undefined;
  /** Runs during the next removal, after the namespace was deleted. */
  afterRemoval: (() => Promise<void>) | undefined;
  #waiters: (() => void)[] = [];

  async ensure({ id, name }: { id: string; name: string }): Promise<void> {
    await this.pause;
    if (this.isAway) throw new Error('the platform is away');
    this.names.set(id, name);
    this.calls += 1;
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  async remove({ id }: { id: string }): Promise<'removed' | 'in use'> {
    if (this.isAway) throw new Error('the platform is away');
    if (this.inUse.has(id)) return 'in use';
    this.names.delete(id);
    await this.afterRemoval?.();
    return 'removed';
  }

  /** Resolves when the next namespace is created. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }
}

let server: AccessTest;
let platform: TestNamespaces;
const loops: OrgNamespaces[] = [];
let admin: string;

/** For replicas that are started. */
let creationTimeoutMs = 60_000;

beforeAll(async () => {
  platform = new TestNamespaces();
  server = await startAccessTest({
    operations: ({ access: database, audit, log }) => {
      const namespaces = new OrgNamespaces({ database, namespaces: platform, log, intervalMs: 50, creationTimeoutMs });
      loops.push(namespaces);
      return orgOperations({
        database,
        audit,
        organizations: new Organizations(database),
        names: new NameClaims({ database, log }),
        namespaces,
      });
    },
  });
});
beforeEach(async () => {
  await server.access.pool.query('TRUNCATE access.users, access.operate_logs CASCADE');
  await server.access.pool.query('DELETE FROM access.organizations WHERE NOT builtin');
  Object.assign(platform, { isAway: false, afterRemoval: undefined });
  platform.names.clear();
  platform.inUse.clear();
  admin = await server.addUser({
    username: 'admin',
    systemRoles: ['SystemAdmin'],
    orgRoles: { [defaultOrgId]: ['OrgUser'] },
  });
});
afterAll(async () => {
  await Promise.all(loops.map((loop) => loop.stop()));
  await server.stop();
});

const send = (method: string, at = '', body?: unknown, as = admin): Promise<AccessAnswer> =>
  server.send(method, `${path}${at}`, { as, body });
const create = async (name: string): Promise<string> => ((await send('POST', '', { name })).json as { id: string }).id;
const namesOf = (json: unknown): string[] => (json as { name: string }[]).map(({ name }) => name);
const isReady = async (id: string): Promise<boolean | undefined> =>
  (
    await server.access.pool.query<{ ready: boolean }>(
      'SELECT namespace_ready AS ready FROM access.organizations WHERE id = $1',
      [id],
    )
  ).rows[0]?.ready;

describe('the list', () => {
  test('has all organizations for users who may see everything', async () => {
    await create('Beta');
    const auditor = await server.addUser({ username: 'eye', systemRoles: ['SystemAuditor'] });
    expect(namesOf((await send('GET', '?is_member=true')).json)).toEqual(['DEFAULT']);
    expect(namesOf((await send('GET', '?is_member=false')).json)).toEqual(['Beta', 'ROOT']);
    expect(namesOf((await send('GET', '?is_member=true', undefined, auditor)).json)).toEqual([]);
    for (const as of [admin, auditor]) {
      expect((await send('GET', '', undefined, as)).json).toMatchObject([
        { name: 'Beta', builtin: false, is_root: false, is_default: false, created_by: 'admin' },
        { id: defaultOrgId, name: 'DEFAULT', builtin: true, is_default: true, namespace: 'default' },
        { id: rootOrgId, name: 'ROOT', builtin: true, is_root: true, namespace: null, namespace_ready: false },
      ]);
    }
  });

  test('has those in which the user has a role for others, and can be searched, ordered and paged', async () => {
    const [a, b] = [await create('Alpha'), await create('Beta')];
    await create('Gamma');
    const mia = await server.addUser({ username: 'mia', orgRoles: { [a]: ['OrgUser'], [b]: ['OrgAdmin'] } });
    expect(namesOf((await send('GET', '', undefined, mia)).json)).toEqual(['Alpha', 'Beta']);
    expect(namesOf((await send('GET', '?order=-name', undefined, mia)).json)).toEqual(['Beta', 'Alpha']);
    expect((await send('GET', '?limit=1&offset=1', undefined, mia)).json).toMatchObject({
      count: 2,
      next: null,
      results: [{ name: 'Beta' }],
    });
    expect(namesOf((await send('GET', '?search=ALPH')).json)).toEqual(['Alpha']);
    for (const letter of ['%25', '_', '%5C']) expect((await send('GET', `?search=${letter}`)).json).toEqual([]);
    expect(namesOf((await send('GET', '?name=gamma')).json)).toEqual(['Gamma']);
    expect(namesOf((await send('GET', `?id=${b}`, undefined, mia)).json)).toEqual(['Beta']);
    expect(namesOf((await send('GET', '?is_member=1&q=beta', undefined, mia)).json)).toEqual(['Beta']);
    expect(namesOf((await send('GET', '?is_member=False', undefined, mia)).json)).toEqual([]);
    expect((await send('GET', '?order=owner&id=x&is_member=maybe')).json).toEqual({
      order: [expect.any(String)],
      id: [expect.any(String)],
      is_member: [expect.any(String)],
    });
    expect((await send('GET', 'alpha', undefined, mia)).json).toMatchObject({ id: a });
    expect(await send('GET', 'Gamma', undefined, mia)).toMatchObject({ status: 404, json: { code: 'org_not_found' } });
    expect(await send('GET', 'ROOT', undefined, mia)).toMatchObject({ status: 404 });
    const stranger = await server.addUser({ username: 'eve' });
    expect((await send('GET', '', undefined, stranger)).json).toEqual([]);
  });
});

describe('the current organization', () => {
  const cases: {
    reason: string;
    system?: SystemRole[];
    orgs?: string[];
    query?: string;
    headers?: Record<string, string | string[]>;
    expected: string | number;
  }[] = [
    { reason: 'the only one', orgs: ['Alpha'], expected: 'Alpha' },
    { reason: 'DEFAULT for a user with several', orgs: ['Alpha', 'Beta', 'DEFAULT'], expected: 'DEFAULT' },
    { reason: 'DEFAULT is refused without a role in it', orgs: ['Alpha', 'Beta'], expected: 403 },
    {
      reason: 'DEFAULT for a user without roles who may see everything',
      system: ['SystemAuditor'],
      expected: 'DEFAULT',
    },
    { reason: 'refused for a user without any role', expected: 403 },
    { reason: 'by cookie', orgs: ['Alpha', 'Beta'], headers: { Cookie: 'X-SVC-ORG=Alpha' }, expected: 'Alpha' },
    {
      reason: 'the header before the cookie',
      orgs: ['Alpha', 'Beta'],
      headers: { Cookie: 'X-SVC-ORG=Alpha', 'X-SVC-ORG': 'beta' },
      expected: 'Beta',
    },
    {
      reason: 'the query before the header',
      orgs: ['Alpha', 'Beta'],
      query: '?oid=alpha',
      headers: { 'X-SVC-ORG': 'Beta' },
      expected: 'Alpha',
    },
    {
      reason: 'an empty one counts as absent',
      orgs: ['Alpha', 'Beta'],
      query: '?oid=',
      headers: { 'X-SVC-ORG': ' ', Cookie: 'X-SVC-ORG=Beta' },
      expected: 'Beta',
    },
    {
      reason: 'a name of any script, in any case',
      orgs: ['Ünïon', 'Beta'],
      headers: { 'X-SVC-ORG': Buffer.from('üNÏON').toString('latin1') },
      expected: 'Ünïon',
    },
    {
      reason: 'a name in the query',
      orgs: ['Ünïon', 'Beta'],
      query: `?oid=${encodeURIComponent('Ünïon')}`,
      expected: 'Ünïon',
    },
    {
      reason: 'ROOT with a role in the system',
      system: ['SystemAuditor'],
      headers: { 'X-SVC-ORG': 'root' },
      expected: 'ROOT',
    },
    { reason: 'ROOT by its id', system: ['SystemAdmin'], headers: { 'X-SVC-ORG': rootOrgId }, expected: 'ROOT' },
    { reason: 'ROOT is refused for others', orgs: ['Alpha'], headers: { 'X-SVC-ORG': 'ROOT' }, expected: 403 },
    {
      reason: 'DEFAULT by its name',
      system: ['SystemAdmin'],
      orgs: ['Alpha'],
      headers: { 'X-SVC-ORG': 'dEFAULT' },
      expected: 'DEFAULT',
    },
    { reason: 'one in which the user has no role', orgs: ['Alpha'], headers: { 'X-SVC-ORG': 'Beta' }, expected: 403 },
    {
      reason: 'one that does not exist',
      system: ['SystemAdmin'],
      headers: { 'X-SVC-ORG': '12345678-0000-0000-0000-000000000000' },
      expected: 404,
    },
    { reason: 'garbage', system: ['SystemAdmin'], query: '?oid=%00%C3%B0', expected: 404 },
    {
      reason: 'bytes that are not UTF-8',
      system: ['SystemAdmin'],
      headers: { 'X-SVC-ORG': '\xff\xfe' },
      expected: 404,
    },
    { reason: 'two in one header', system: ['SystemAdmin'], headers: { 'X-SVC-ORG': 'Alpha, Beta' }, expected: 400 },
    { reason: 'two headers', system: ['SystemAdmin'], headers: { 'X-SVC-ORG': ['Alpha', 'Alpha'] }, expected: 400 },
    { reason: 'two in the query', system: ['SystemAdmin'], query: '?oid=Alpha&oid=', expected: 400 },
  ];
  test.each(cases)('$reason', async ({ system = [], orgs = [], query = '', headers = {}, expected }) => {
    const orgRoles: Record<string, OrgRole[]> = {};
    for (const name of ['Alpha', 'Beta', 'Ünïon']) {
      const id = await create(name);
      if (orgs.includes(name)) orgRoles[id] = ['OrgUser'];
    }
    if (orgs.includes('DEFAULT')) orgRoles[defaultOrgId] = ['OrgUser'];
    const as = await server.addUser({ username: 'mia', systemRoles: system, orgRoles });
    const answer = await server.send('GET', `${path}current/${query}`, { as, headers });
    const found = answer.status === 200 ? (answer.json as { name: string }).name : answer.status;
    expect(found).toBe(expected);
    const codes: Record<number, string> = { 400: 'invalid', 403: 'permission_denied', 404: 'org_not_found' };
    if (typeof expected === 'number') expect(answer.json).toMatchObject({ code: codes[expected] });
  });
});

describe('a new organization', () => {
  test('has its namespace', async () => {
    const answer = await send('POST', '', { name: ' Alpha ', comment: 'first', builtin: true, id: rootOrgId });
    expect(answer).toMatchObject({
      status: 201,
      json: { name: 'Alpha', comment: 'first', builtin: false, created_by: 'admin', namespace_ready: true },
    });
    const { id, namespace } = answer.json as { id: string; namespace: string };
    expect(namespace).toBe(`org-${id}`);
    expect(platform.names.get(id)).toBe('Alpha');
    const { rows } = await server.access.pool.query(
      'SELECT action, resource_type, resource, org_id FROM access.operate_logs',
    );
    expect(rows).toEqual([{ action: 'create', resource_type: 'organization', resource: 'Alpha', org_id: id }]);
  });

  test.each([
    { reason: 'no name', body: {} },
    { reason: 'a blank name', body: { name: ' ' } },
    { reason: 'a name that is a reserved word', body: { name: 'Root' } },
    { reason: 'a reserved word in wide letters', body: { name: 'ＤＥＦＡＵＬＴ' } },
    { reason: 'a name like an id', body: { name: '12345678-0000-0000-0000-000000000000' } },
    { reason: 'a name that a path has', body: { name: 'Current' } },
    { reason: 'a dot', body: { name: '.' } },
    { reason: 'two dots', body: { name: '..' } },
    { reason: 'an invisible character', body: { name: 'Press\u3164' } },
    { reason: 'a pattern without dots', body: { name: '\u2800' } },
    { reason: 'a name that looks like two', body: { name: 'A, B' } },
    { reason: 'a name too long', body: { name: 'x'.repeat(129) } },
    { reason: 'one too long when folded', body: { name: 'ﷺ'.repeat(128) } },
    { reason: 'a value that is not text', body: { name: 5 } },
  ])('is refused with $reason', async ({ body }) => {
    expect(await send('POST', '', body)).toMatchObject({ status: 400, json: { name: [expect.any(String)] } });
  });

  test('has a name that is unique, regardless of case', async () => {
    await create('Alpha');
    expect((await send('POST', '', { name: 'ALPHA' })).json).toEqual({ name: ['This field must be unique.'] });
  });

  test('is created, changed and deleted only by an administrator of the system', async () => {
    const id = await create('Alpha');
    const orgAdmin = await server.addUser({
      username: 'boss',
      systemRoles: ['SystemAuditor'],
      orgRoles: { [id]: ['OrgAdmin'] },
    });
    for (const [method, at] of [
      ['POST', ''],
      ['PUT', id],
      ['PATCH', id],
      ['DELETE', id],
    ] as const)
      expect(await send(method, at, { name: 'x' }, orgAdmin)).toMatchObject({ status: 403 });
  });

  test('gets its namespace later if the platform is unavailable, from any replica', async () => {
    platform.isAway = true;
    const answer = await send('POST', '', { name: 'Alpha' });
    expect(answer).toMatchObject({ status: 201, json: { namespace_ready: false } });
    const { id } = answer.json as { id: string };
    platform.isAway = false;
    const other = new OrgNamespaces({ database: server.access, namespaces: platform, log: server.log, intervalMs: 50 });
    loops.push(other);
    other.start();
    // DEFAULT, which was never checked, and the new one, in any order.
    while (!platform.names.has(id)) await platform.next();
    await other.stop();
    expect(await isReady(id)).toBe(true);
  });
});

test('a platform that does not respond delays no request, and occupies at most one connection', async () => {
  creationTimeoutMs = 100;
  const replica = await server.startReplica();
  let resume!: () => void;
  platform.pause = new Promise((resolve) => {
    resume = resolve;
  });
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, i) => replica.send('POST', path, { as: admin, body: { name: `Org ${i}` } })),
  );
  expect(answers.map(({ status, json }) => [status, (json as { namespace_ready: boolean }).namespace_ready])).toEqual(
    answers.map(() => [201, false]),
  );
  expect((await replica.send('GET', path, { as: admin })).status).toBe(200);
  resume();
  platform.pause = undefined;
  const [last] = answers.slice(-1);
  await loops.at(-1)!.ensure((last!.json as { id: string }).id);
  while (platform.names.size < 12) await platform.next();
});

describe('an existing namespace', () => {
  const replica = (refreshMs: number): OrgNamespaces => {
    const one = new OrgNamespaces({
      database: server.access,
      namespaces: platform,
      log: server.log,
      intervalMs: 5,
      refreshMs,
    });
    loops.push(one);
    one.start();
    return one;
  };
  /** Resolves after this number of checks. */
  const looked = async (times: number): Promise<void> => {
    while (platform.calls < times) await platform.next();
    // The lock is held until the check is stored.
    await server.access.pool.query('SELECT FROM access.organizations FOR UPDATE');
  };

  beforeEach(async () => {
    await create('Alpha');
    // The checks are of its namespace and that of DEFAULT.
    platform.calls = 0;
  });

  test('is checked at each start, and when its last check is old: by one of many replicas', async () => {
    const replicas: OrgNamespaces[] = [];
    for (const start of [1, 2, 3]) {
      replicas.push(replica(300_000));
      await looked(2 * start);
    }
    let resume!: () => void;
    platform.pause = new Promise((resolve) => {
      resume = resolve;
    });
    await server.access.pool.query(
      "UPDATE access.organizations SET namespace_checked = namespace_checked - interval '10 minutes'",
    );
    // Meanwhile all three find both of them due.
    await setTimeout(100);
    resume();
    platform.pause = undefined;
    await looked(8);
    await Promise.all(replicas.map((one) => one.stop()));
    expect(platform.calls).toBe(8);
  });

  test('is checked repeatedly, at the configured interval', async () => {
    const one = replica(1);
    await looked(8);
    await one.stop();
  });
});

describe('a change', () => {
  test('of the name updates the namespace', async () => {
    const id = await create('Alpha');
    expect(await send('PATCH', id, { name: 'Beta' })).toMatchObject({
      status: 200,
      json: { id, name: 'Beta', namespace_ready: true },
    });
    expect(platform.names.get(id)).toBe('Beta');
    expect(await send('PUT', 'beta', { name: 'beta', comment: 'x' })).toMatchObject({
      status: 200,
      json: { name: 'beta', comment: 'x' },
    });
    expect(await send('PUT', id, { comment: 'x' })).toMatchObject({
      status: 400,
      json: { name: ['This field is required.'] },
    });
    await create('Gamma');
    expect(await send('PATCH', id, { name: 'GAMMA' })).toMatchObject({
      status: 400,
      json: { name: ['This field must be unique.'] },
    });
  });

  test('is refused for the organizations of the system', async () => {
    for (const id of [rootOrgId, 'DEFAULT'])
      for (const method of ['PUT', 'PATCH', 'DELETE'])
        expect(await send(method, id, { name: 'Mine' })).toMatchObject({
          status: 403,
          json: { code: 'permission_denied' },
        });
  });
});

describe('a deletion', () => {
  test('deletes the namespace', async () => {
    const id = await create('Alpha');
    expect(await send('DELETE', id)).toMatchObject({ status: 204, text: '' });
    expect(platform.names.has(id)).toBe(false);
    expect(await send('DELETE', id)).toMatchObject({ status: 404, json: { code: 'org_not_found' } });
  });

  test('is refused while members or objects are left', async () => {
    const id = await create('Alpha');
    const mia = await server.addUser({ username: 'mia', orgRoles: { [id]: ['OrgUser'] } });
    expect(await send('DELETE', id)).toMatchObject({
      status: 409,
      json: { code: 'conflict', detail: expect.stringContaining('members') },
    });
    await server.access.pool.query('DELETE FROM access.users WHERE id = $1', [mia]);
    platform.inUse.add(id);
    expect(await send('DELETE', id)).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining('objects') },
    });
    expect(await isReady(id)).toBe(true);
    platform.inUse.clear();
    expect((await send('DELETE', id)).status).toBe(204);
  });

  test('is 503 while the platform is unavailable, and changes nothing', async () => {
    const id = await create('Alpha');
    platform.isAway = true;
    expect(await send('DELETE', id)).toMatchObject({ status: 503, json: { code: 'unavailable' } });
    platform.isAway = false;
    expect(await send('GET', id)).toMatchObject({ status: 200, json: { name: 'Alpha' } });
    expect((await send('DELETE', id)).status).toBe(204);
  });

  test.each([
    { reason: 'that is killed after its namespace was deleted', looks: 0 },
    { reason: 'that is killed so, after another replica has checked it in between', looks: 1 },
  ])('$reason leaves an organization, which gets its namespace again', async ({ looks }) => {
    const id = await create('Alpha');
    // Acts as another replica that checks the organization right after it was marked.
    await server.access.pool.query(`CREATE SEQUENCE access.looks;
      CREATE FUNCTION access.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.namespace_ready := nextval('access.looks') <= ${looks}; RETURN NEW; END $$;
      CREATE TRIGGER look BEFORE UPDATE ON access.organizations FOR EACH ROW WHEN (NOT NEW.namespace_ready) EXECUTE FUNCTION access.look()`);
    platform.afterRemoval = async () => {
      // Acts as a killed process: its connection closes, which rolls back the transaction.
      await server.access.pool.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'",
      );
    };
    const { status } = await send('DELETE', id);
    platform.afterRemoval = undefined;
    await server.access.pool.query('DROP FUNCTION access.look CASCADE; DROP SEQUENCE access.looks');
    expect(status).toBeGreaterThanOrEqual(500);
    expect([await isReady(id), platform.names.has(id)]).toEqual([false, false]);
    const other = new OrgNamespaces({ database: server.access, namespaces: platform, log: server.log, intervalMs: 50 });
    loops.push(other);
    other.start();
    while (!platform.names.has(id)) await platform.next();
    await other.stop();
    expect(await isReady(id)).toBe(true);
  });

  test('leaves no namespace, even if replicas check it meanwhile', async () => {
    const checkers = [1, 2].map(
      () => new OrgNamespaces({ database: server.access, namespaces: platform, log: server.log, intervalMs: 1 }),
    );
    loops.push(...checkers);
    for (const loop of checkers) loop.start();
    const ids = await Promise.all(Array.from({ length: 10 }, (_, i) => create(`Org ${i}`)));
    const answers = await Promise.all(ids.map((id) => send('DELETE', id)));
    await Promise.all(checkers.map((loop) => loop.stop()));
    expect(answers.map(({ status }) => status)).toEqual(ids.map(() => 204));
    expect(ids.filter((id) => platform.names.has(id))).toEqual([]);
  });

  test('prevents that a user becomes a member meanwhile', async () => {
    const id = await create('Alpha');
    const mia = await server.addUser({ username: 'mia' });
    let joined: Promise<unknown> | undefined;
    platform.afterRemoval = async () => {
      joined = server.access.pool
        .query("INSERT INTO access.org_role_bindings (user_id, org_id, role) VALUES ($1, $2, 'OrgUser')", [mia, id])
        .catch((error: { code: string }) => error.code);
    };
    expect((await send('DELETE', id)).status).toBe(204);
    expect(await joined).toBe('23503');
  });
});
