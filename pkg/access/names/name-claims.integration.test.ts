import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { AccessAnswer, AccessReplica } from '../accesstest/start-access-test.ts';
import type { TestUser } from '../accesstest/add-user.ts';
import { orgOperations } from '../orgs/org-operations.ts';
import type { OrgNamespaces } from '../orgs/org-namespaces.ts';
import { startTestUsers, type TestUsers } from '../users/start-test-users.ts';
import { confusablesVersion } from './confusables-data.ts';
import { NameClaims } from './name-claims.ts';

const path = '/api/v1/users/users/';
const orgs = '/api/v1/orgs/orgs/';
/** A Cyrillic letter. */
const a = '\u0430';
const taken = 'This looks like a name that is taken.';

let fixtures: TestUsers;
let admin: string;
let replicas: AccessReplica[];
beforeAll(async () => {
  const namespaces = { ensure: () => Promise.resolve() } as unknown as OrgNamespaces;
  fixtures = await startTestUsers({ more: (parts) => orgOperations({ ...parts, namespaces }) });
  replicas = [fixtures.server, await fixtures.server.startReplica()];
});
beforeEach(async () => {
  const { pool } = fixtures.server.access;
  await pool.query('TRUNCATE access.users, access.operate_logs CASCADE');
  await pool.query('TRUNCATE access.organization_skeletons');
  await pool.query('DELETE FROM access.organizations WHERE NOT builtin');
  admin = await add({ username: 'admin', systemRoles: ['SystemAdmin'] });
  await newClaims().claims.adopt();
});
afterAll(() => fixtures.server.stop());

const add = (user: TestUser): Promise<string> => fixtures.server.addUser(user);
const create = (username: string, at = fixtures.server as AccessReplica): Promise<AccessAnswer> =>
  at.send('POST', path, { as: admin, body: { username, name: username, email: `${Math.random()}@example.com` } });
const rows = async (table: string): Promise<unknown[]> =>
  (await fixtures.server.access.pool.query(`SELECT owner, made_of FROM access.${table} ORDER BY made_of`)).rows;

/** The claims of a new process. */
function newClaims(): { claims: NameClaims; warnings: () => object[] } {
  const lines: Record<string, unknown>[] = [];
  const log = pino(
    { base: null, timestamp: false },
    { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  return {
    claims: new NameClaims({ database: fixtures.server.access, log }),
    warnings: () => lines.map(({ kind, name, like }) => ({ kind, name, like })),
  };
}

describe('a username that looks like another', () => {
  test.each([`${a}dmin`, 'adrnin', `${a.toUpperCase()}dmin`, 'ａｄｒｎｉｎ'])(
    '%s is refused by field, on any replica',
    async (username) => {
      for (const replica of replicas)
        expect(await create(username, replica)).toMatchObject({ status: 400, json: { username: [taken] } });
      expect((await fixtures.server.access.pool.query('SELECT 1 FROM access.users')).rowCount).toBe(1);
      expect((await fixtures.server.access.pool.query('SELECT 1 FROM access.operate_logs')).rowCount).toBe(0);
    },
  );

  test('is refused as taken if it is the same name', async () => {
    expect(await create('ADMIN')).toMatchObject({ status: 400, json: { username: ['This field must be unique.'] } });
  });

  test('is created once by many concurrent requests to two replicas', async () => {
    const alike = [
      'scope',
      's\u0441ope',
      'sc\u043Epe',
      'sco\u0440e',
      'scop\u0435',
      '\u0455cope',
      's\u0441\u043Epe',
      's\u0441o\u0440e',
    ];
    const answers = await Promise.all(alike.map((username, i) => create(username, replicas[i % 2])));
    const refused = answers.filter(({ status }) => status !== 201);
    expect(refused).toHaveLength(7);
    for (const answer of refused) expect(answer).toMatchObject({ status: 400, json: { username: [taken] } });
  });

  test('is available when the other is deleted', async () => {
    const { json } = await create('mia');
    expect((await create(`mi${a}`)).status).toBe(400);
    expect((await fixtures.server.send('DELETE', `${path}${(json as { id: string }).id}/`, { as: admin })).status).toBe(
      204,
    );
    expect((await create(`mi${a}`)).status).toBe(201);
  });
});

describe('existing names', () => {
  test('get their claims; of two that look alike the older gets them, both stay, and the log reports them once', async () => {
    const older = await add({ username: 'leo' });
    const younger = await add({ username: 'le\u043E' });
    await add({ username: 'noah' });
    const { claims, warnings } = newClaims();
    await claims.prepare();
    await claims.prepare();
    await claims.adopt();
    expect(warnings()).toEqual([{ kind: 'user', name: 'le\u043E', like: 'leo' }]);
    expect(await rows('username_skeletons')).toEqual([
      { owner: admin, made_of: `${confusablesVersion} admin` },
      { owner: older, made_of: `${confusablesVersion} leo` },
      { owner: expect.any(String), made_of: `${confusablesVersion} noah` },
    ]);
    // Neither blocks the other, and a third is refused.
    for (const id of [older, younger])
      expect(await fixtures.server.send('PATCH', `${path}${id}/`, { as: admin, body: { comment: 'x' } })).toMatchObject(
        {
          status: 200,
        },
      );
    expect((await create('l\u0435o')).status).toBe(400);
    // The remaining one gets the claims of the deleted one.
    await fixtures.server.send('DELETE', `${path}${older}/`, { as: admin });
    expect((await create('leo')).json).toEqual({ username: [taken] });
  });

  test('that have only a part of their claims get the rest when the other name is deleted', async () => {
    const older = await add({ username: 'lvan' });
    // Looks like the previous one as written, but not as folded.
    const younger = await add({ username: 'Ivan' });
    await newClaims().claims.adopt();
    expect((await create('iv\u0430n')).json).toEqual({ username: [taken] });
    await fixtures.server.send('DELETE', `${path}${older}/`, { as: admin });
    expect((await create('lv\u0430n')).json).toEqual({ username: [taken] });
    expect((await rows('username_skeletons')).filter((row) => (row as { owner: string }).owner === younger)).toEqual(
      [1, 2].map(() => ({ owner: younger, made_of: `${confusablesVersion} Ivan` })),
    );
  });

  test('are claimed in several batches', async () => {
    await fixtures.server.access.pool.query(
      "INSERT INTO access.users (username, username_key, name, search_text) SELECT n, n, n, n FROM (SELECT 'user' || i FROM generate_series(1, 450) i) AS made (n)",
    );
    await Promise.all([newClaims().claims.prepare(), newClaims().claims.prepare()]);
    expect(await rows('username_skeletons')).toHaveLength(451);
  });

  test('created by a replica of the previous version are waited for', async () => {
    await add({ username: 'eve' });
    const { claims } = newClaims();
    // A process that has just started.
    await Promise.all([claims.prepare(), claims.adopt()]);
    expect((await create('\u0435ve')).json).toEqual({ username: [taken] });
  });

  test('are compared again after a change of the data', async () => {
    const { pool } = fixtures.server.access;
    await pool.query("UPDATE access.username_skeletons SET made_of = '1.0 admin', skeleton = sha256('old')");
    await newClaims().claims.prepare();
    expect(await rows('username_skeletons')).toEqual([{ owner: admin, made_of: `${confusablesVersion} admin` }]);
    expect((await create(`${a}dmin`)).status).toBe(400);
  });

  test('are not waited for: a user who is being changed is left to the next round', async () => {
    const id = await add({ username: 'busy' });
    await fixtures.server.access.transaction(async (on) => {
      await on.query('SELECT 1 FROM access.users WHERE id = $1 FOR UPDATE', [id]);
      await newClaims().claims.adopt();
      expect(await rows('username_skeletons')).toHaveLength(1);
    });
    await newClaims().claims.adopt();
    expect(await rows('username_skeletons')).toHaveLength(2);
  });

  test('an interrupted start is continued by the next one', async () => {
    const { claims } = newClaims();
    await claims.stop();
    await add({ username: 'late' });
    await claims.adopt();
    expect(await rows('username_skeletons')).toHaveLength(1);
  });
});

describe('the name of an organization', () => {
  const createOrg = (name: string): Promise<AccessAnswer> =>
    fixtures.server.send('POST', orgs, { as: admin, body: { name } });
  const rename = (id: string, body: object, method = 'PATCH'): Promise<AccessAnswer> =>
    fixtures.server.send(method, `${orgs}${id}/`, { as: admin, body });
  const idOf = ({ json }: AccessAnswer): string => (json as { id: string }).id;

  test('that looks like another is refused, at creation and at a change', async () => {
    const acme = idOf(await createOrg('Acme'));
    expect(await createOrg('\u0410cme')).toMatchObject({ status: 400, json: { name: [taken] } });
    expect(await createOrg('R\u041E\u041ET')).toMatchObject({ status: 400, json: { name: [taken] } });
    const other = idOf(await createOrg('Other'));
    expect(await rename(other, { name: '\u0410cme' })).toMatchObject({ status: 400, json: { name: [taken] } });
    expect(await rename(acme, { name: '\u0410cme' })).toMatchObject({ status: 200, json: { name: '\u0410cme' } });
    expect(await rename(acme, { name: 'Elsewhere' })).toMatchObject({ status: 200 });
    expect(await rename(other, { name: 'Acme' })).toMatchObject({ status: 200 });
  });

  test('that already looked like another is kept, also by a request that sends it back unchanged', async () => {
    await fixtures.server.access.pool.query(
      "INSERT INTO access.organizations (name, name_key) VALUES ('Acme', 'acme')",
    );
    const { rows: made } = await fixtures.server.access.pool.query<{ id: string }>(
      "INSERT INTO access.organizations (name, name_key) VALUES ('\u0410cme', 'x') RETURNING id",
    );
    const { claims, warnings } = newClaims();
    await claims.prepare();
    expect(warnings()).toEqual([{ kind: 'organization', name: '\u0410cme', like: 'Acme' }]);
    expect(await rename(made[0]!.id, { name: '\u0410cme', comment: 'x' }, 'PUT')).toMatchObject({
      status: 200,
      json: { comment: 'x' },
    });
    expect(await rename(made[0]!.id, { name: '\u0410crne' })).toMatchObject({ status: 400 });
  });

  test('that is given up by a rename is claimed by its lookalike from before', async () => {
    const { pool } = fixtures.server.access;
    const { rows: made } = await pool.query<{ id: string }>(
      "INSERT INTO access.organizations (name, name_key) VALUES ('Acme', 'acme') RETURNING id",
    );
    await pool.query("INSERT INTO access.organizations (name, name_key) VALUES ('\u0410cme', 'x')");
    await newClaims().claims.adopt();
    expect(await rename(made[0]!.id, { name: 'Elsewhere' })).toMatchObject({ status: 200 });
    expect(await createOrg('Acm\u0435')).toMatchObject({ status: 400, json: { name: [taken] } });
  });
});
