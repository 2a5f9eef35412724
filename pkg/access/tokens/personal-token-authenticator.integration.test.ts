import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { AccessDatabase } from '../access-database.ts';
import { addUser, defaultOrgId } from '../accesstest/add-user.ts';
import { Audit } from '../audit/audit.ts';
import { accessMigrations } from '../migrations.ts';
import { PersonalTokenAuthenticator } from './personal-token-authenticator.ts';
import { TokenStore } from './token-store.ts';
import { TokenUses } from './token-uses.ts';

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let store: TokenStore;
let uses: TokenUses;
let authenticator: PersonalTokenAuthenticator;
let warnings: string[];

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  store = new TokenStore(database);
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE access.users, access.personal_tokens, access.operate_logs CASCADE');
  warnings = [];
  const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
  uses = new TokenUses({ database: access, audit: new Audit(access), log });
  authenticator = new PersonalTokenAuthenticator(store, uses);
});
afterEach(() => uses.stop());
afterAll(async () => {
  await database.close();
  await home.drop();
});

async function addToken(userId: string, roles: string[] | null = null): Promise<string> {
  const token = newPersonalToken();
  await database.pool.query(
    "INSERT INTO access.personal_tokens (name, username, user_id, hash, roles) VALUES ('ci', '', $1, $2, $3)",
    [userId, TokenStore.hash(token), roles],
  );
  return token;
}
const change = (statement: string): Promise<unknown> => database.pool.query(statement);
const lastUsed = async (): Promise<(Date | null)[]> =>
  (
    await database.pool.query<{ last_used: Date | null }>(
      'SELECT last_used FROM access.personal_tokens ORDER BY created',
    )
  ).rows.map((row) => row.last_used);
const failures = async (): Promise<object[]> =>
  (
    await database.pool.query(
      'SELECT username, action, resource, detail, remote_addr FROM access.operate_logs ORDER BY id',
    )
  ).rows as object[];

describe('a personal token', () => {
  test('authenticates its owner with the current permissions, limited to its roles', async () => {
    const id = await addUser(access, {
      username: 'mia',
      groups: ['authors'],
      systemRoles: ['SystemAuditor', 'SystemUser'],
      orgRoles: { [defaultOrgId]: ['OrgAdmin', 'OrgUser'] },
    });
    const groups = [
      'svc:system-auditors',
      `org:${defaultOrgId}:OrgAdmin`,
      `org:${defaultOrgId}:OrgUser`,
      'authors',
      'system:authenticated',
    ];
    const extra = { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^PAT=[0-9a-f-]{36}$/)] };
    expect(await authenticator.authenticateToken(await addToken(id))).toEqual({ name: 'mia', uid: id, groups, extra });
    const narrowed = await addToken(id, ['view']);
    expect(await authenticator.authenticateToken(narrowed)).toEqual({
      name: 'mia',
      uid: id,
      groups,
      extra,
      restriction: { roles: ['view'] },
    });
    await change(
      "DELETE FROM access.org_role_bindings; UPDATE access.users SET groups = '{}'; INSERT INTO access.system_role_bindings (user_id, role) SELECT id, 'SystemAdmin' FROM access.users",
    );
    expect((await authenticator.authenticateToken(narrowed))?.groups).toEqual([
      'system:masters',
      'svc:system-auditors',
      'system:authenticated',
    ]);
  });

  test.each([
    ['was revoked', 'UPDATE access.personal_tokens SET revoked = now()'],
    ['has expired', "UPDATE access.personal_tokens SET expires = now() - interval '1 second'"],
    ['is of a disabled user', 'UPDATE access.users SET is_active = false'],
    ['is of a user who has expired', "UPDATE access.users SET date_expired = now() - interval '1 second'"],
    ['is of a user who is gone', 'DELETE FROM access.users'],
    ['is gone', 'DELETE FROM access.personal_tokens'],
  ])('is invalid from the next request on when it %s', async (_reason, statement) => {
    const token = await addToken(await addUser(access, { username: 'mia' }));
    expect(await authenticator.authenticateToken(token)).toMatchObject({ name: 'mia' });
    await change(statement);
    expect(await authenticator.authenticateToken(token)).toBeUndefined();
  });

  test('authenticates its own user among concurrent requests of many', async () => {
    const tokens = await Promise.all(
      Array.from({ length: 150 }, async (_, index) => addToken(await addUser(access, { username: `u${index}` }))),
    );
    const asked = tokens.flatMap((token, index) => [
      { token, name: `u${index}` },
      { token: newPersonalToken(), name: undefined },
    ]);
    const found = await Promise.all(asked.map(({ token }) => authenticator.authenticateToken(token)));
    expect(found.map((user) => user?.name)).toEqual(asked.map(({ name }) => name));
  });

  test('causes no query if it is malformed, or has a wrong checksum', async () => {
    const asked: Buffer[] = [];
    const silent = new PersonalTokenAuthenticator(
      {
        findOwner: async (hash) => {
          asked.push(hash);
          return undefined;
        },
      },
      uses,
    );
    const token = newPersonalToken();
    for (const wrong of ['', 'pat_', `${token}x`, `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`])
      expect(await silent.authenticateToken(wrong)).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test('is 503 while the database is unavailable, and valid afterwards', async () => {
    const gone = await Database.connect({ connection: home.connection, log: silentLog });
    const away = new PersonalTokenAuthenticator(new TokenStore(gone), uses);
    await gone.close();
    for (let i = 0; i < 2; i += 1)
      await expect(away.authenticateToken(newPersonalToken())).rejects.toMatchObject({ code: 503 });
  });
});

describe('its use', () => {
  test('is recorded at most once a minute, and at the latest at the end', async () => {
    const token = await addToken(await addUser(access, { username: 'mia' }));
    for (let i = 0; i < 3; i += 1) await authenticator.authenticateToken(token);
    expect(await lastUsed()).toEqual([null]);
    await uses.stop();
    const [first] = await lastUsed();
    expect(Math.abs(Date.now() - first!.getTime())).toBeLessThan(60_000);
    await authenticator.authenticateToken(token);
    await uses.stop();
    expect(await lastUsed()).toEqual([first]);
    await change("UPDATE access.personal_tokens SET last_used = now() - interval '61 seconds'");
    await authenticator.authenticateToken(token);
    await uses.stop();
    expect((await lastUsed())[0]!.getTime()).toBeGreaterThanOrEqual(first!.getTime());
  });

  test('has the time of the use, so that a revocation after it is later', async () => {
    const token = await addToken(await addUser(access, { username: 'mia' }));
    await authenticator.authenticateToken(token);
    await change('UPDATE access.personal_tokens SET revoked = now()');
    await uses.stop();
    const { rows } = await database.pool.query('SELECT last_used <= revoked AS before FROM access.personal_tokens');
    expect(rows).toEqual([{ before: true }]);
  });

  test('is recorded by several replicas at once without one waiting for another', async () => {
    const id = await addUser(access, { username: 'mia' });
    const tokens = await Promise.all(Array.from({ length: 20 }, () => addToken(id)));
    const replicas = Array.from(
      { length: 4 },
      () => new TokenUses({ database: access, audit: new Audit(access), log: pino({ level: 'silent' }) }),
    );
    await Promise.all(
      replicas.map(async (replica) => {
        const replicated = new PersonalTokenAuthenticator(store, replica);
        await Promise.all(tokens.map((token) => replicated.authenticateToken(token)));
        await replica.stop();
      }),
    );
    expect((await lastUsed()).every((time) => time !== null)).toBe(true);
  });

  test('is recorded in the audit if it is invalid, once a minute, with its address', async () => {
    const token = await addToken(await addUser(access, { username: 'mia' }));
    await change('UPDATE access.personal_tokens SET revoked = now()');
    for (let i = 0; i < 3; i += 1) await authenticator.authenticateToken(token, () => '10.1.1.1');
    await authenticator.authenticateToken(newPersonalToken(), () => '10.1.1.1');
    await uses.stop();
    expect(await failures()).toEqual([
      {
        username: '',
        action: 'failed_use',
        resource: 'ci',
        detail: 'of mia: the token was revoked or has expired',
        remote_addr: '10.1.1.1',
      },
    ]);
    expect(await lastUsed()).toEqual([null]);
  });

  test('names the user as the reason if the user is disabled', async () => {
    const token = await addToken(await addUser(access, { username: 'mia', isActive: false }));
    await authenticator.authenticateToken(token);
    await uses.stop();
    expect(await failures()).toMatchObject([{ detail: 'of mia: the user is disabled or has expired' }]);
  });

  test('that cannot be recorded is logged, and delays nothing', async () => {
    const gone = await Database.connect({ connection: home.connection, log: silentLog });
    const broken = new AccessDatabase(gone);
    await gone.close();
    const log = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) });
    const noting = new TokenUses({ database: broken, audit: new Audit(broken), log });
    noting.noteUse('00000000-0000-4000-8000-000000000000');
    await noting.stop();
    expect(warnings).toEqual([expect.stringContaining('could not record the use of tokens')]);
  });
});
