import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { isPersonalToken, newPersonalToken, type UserInfo } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { AccessDatabase } from '../access-database.ts';
import { Audit } from '../audit/audit.ts';
import { accessMigrations } from '../migrations.ts';
import { PasswordHasher } from '../login/password-hasher.ts';
import { PersonalTokenAuthenticator } from '../tokens/personal-token-authenticator.ts';
import { TokenStore } from '../tokens/token-store.ts';
import { ensureAdministrator, type EnsureAdministratorOptions } from './ensure-administrator.ts';

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let authenticator: PersonalTokenAuthenticator;
let folder: string;
let data: string;
let file: string;
let messages: string[];
const hasher = new PasswordHasher({ memoryKiB: 64, passes: 1 });
const log = pino(
  { level: 'info' },
  { write: (line: string) => void messages.push((JSON.parse(line) as { msg: string }).msg) },
);

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  authenticator = new PersonalTokenAuthenticator(new TokenStore(database), {
    noteUse: () => {},
    noteFailure: () => {},
  });
  folder = await mkdtemp(join(tmpdir(), 'svc-administrator-'));
});
beforeEach(async () => {
  await empty();
  messages = [];
  await rm(folder, { recursive: true, force: true });
  data = join(folder, 'data');
  file = join(data, 'admin-token');
});
afterAll(async () => {
  await database.close();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Restores the state of a new database. */
const empty = async (): Promise<void> =>
  void (await database.pool.query('TRUNCATE access.users, access.personal_tokens, access.operate_logs CASCADE'));
const ensure = (
  options: Partial<EnsureAdministratorOptions> = {},
): Promise<{ tokenFile: string; passwordFile: string }> =>
  ensureAdministrator({ database: access, hasher, audit: new Audit(access), dataDir: data, log, ...options });
const tokenIn = async (path = file): Promise<string> => (await readFile(path, 'utf8')).trim();
const password = async (path = data): Promise<string> =>
  (await readFile(join(path, 'initial-admin-password'), 'utf8')).slice(0, -1);
const who = (token: string): Promise<UserInfo | undefined> => authenticator.authenticateToken(token);
const isAdmin = async (token: string): Promise<boolean> => (await who(token))?.name === 'admin';
const countTokens = async (): Promise<number> =>
  (await database.pool.query('SELECT 1 FROM access.personal_tokens')).rows.length;
const admins = async (): Promise<{ id: string; hash: string }[]> =>
  (
    await database.pool.query<{ id: string; hash: string }>(
      "SELECT id, password_hash AS hash FROM access.users WHERE username = 'admin'",
    )
  ).rows;
const isPassword = async (text: string): Promise<boolean> =>
  (await hasher.verify((await admins())[0]?.hash, text)).isCorrect;
const addOther = (): Promise<unknown> =>
  database.pool.query(
    `WITH u AS (INSERT INTO access.users (username, username_key, name, search_text, created_by) VALUES ('mia', 'mia', 'Mia', 'mia', 'admin') RETURNING id)
      INSERT INTO access.system_role_bindings (user_id, role) SELECT id, 'SystemAdmin' FROM u`,
  );

describe('the first start', () => {
  test('creates the administrator, and writes password and token to files that only this user can read', async () => {
    expect(await ensure()).toEqual({ tokenFile: file, passwordFile: join(data, 'initial-admin-password') });
    expect((await readdir(data)).toSorted()).toEqual(['admin-token', 'initial-admin-password']);
    for (const name of await readdir(data)) expect((await stat(join(data, name))).mode & 0o777).toBe(0o600);
    expect(await password()).toMatch(/^[2-9A-Za-z]{24}$/);
    expect(await isPassword(await password())).toBe(true);
    const token = await tokenIn();
    expect(isPersonalToken(token)).toBe(true);
    expect(await who(token)).toEqual({
      name: 'admin',
      uid: (await admins())[0]!.id,
      groups: [
        'system:masters',
        'org:00000000-0000-0000-0000-000000000002:OrgAdmin',
        'org:00000000-0000-0000-0000-000000000002:OrgUser',
        'system:authenticated',
      ],
      extra: { 'authentication.kubernetes.io/credential-id': [expect.stringMatching(/^PAT=/)] },
    });
  });

  test('logs the files but not their content, and writes the audit', async () => {
    await ensure();
    expect(messages).toEqual(["wrote the administrator's password", "wrote the administrator's token"]);
    const { rows } = await database.pool.query<{ line: string }>(
      "SELECT action || ' ' || resource_type || ' ' || resource AS line, l::text AS whole FROM access.operate_logs l ORDER BY id",
    );
    expect(rows.map(({ line }) => line)).toEqual([
      'create user admin',
      'change_password user admin',
      'create personal_token initial-admin-token',
    ]);
    const all = JSON.stringify(rows);
    for (const secret of [await password(), await tokenIn()]) expect(all).not.toContain(secret);
  });

  test('uses the values of the options', async () => {
    const initialToken = newPersonalToken();
    await ensure({ initialToken, initialPassword: 'correct horse battery' });
    expect([await tokenIn(), await password()]).toEqual([initialToken, 'correct horse battery']);
    expect([await isAdmin(initialToken), await isPassword('correct horse battery')]).toEqual([true, true]);
  });

  test.each([
    ['too short', 'short', /^svc\.security\.initial-admin-password cannot be used: This password is too short/],
    ['too common', 'password1', /too common/],
    ['not of one line', 'correct horse\nbattery', /control character/],
  ])('refuses a password that is %s, and creates nothing', async (_reason, initialPassword, message) => {
    await expect(ensure({ initialPassword })).rejects.toThrow(message);
    await expect(ensure({ initialPassword })).rejects.toMatchObject({ name: 'InitialPasswordError' });
    expect([await admins(), await countTokens()]).toEqual([[], 0]);
    await expect(readdir(data)).rejects.toThrow('ENOENT');
  });

  test('of many concurrent processes creates one user and one password, on one folder and on separate folders', async () => {
    await Promise.all(Array.from({ length: 8 }, () => ensure()));
    expect([(await admins()).length, await countTokens(), await isPassword(await password())]).toEqual([1, 1, true]);
    await empty();
    const initialToken = newPersonalToken();
    const folders = Array.from({ length: 8 }, (_, index) => join(folder, `replica-${index}`));
    await Promise.all(folders.map((dataDir) => ensure({ dataDir, initialToken })));
    expect([(await admins()).length, await countTokens()]).toEqual([1, 1]);
    expect(await Promise.all(folders.map((path) => tokenIn(join(path, 'admin-token'))))).toEqual(
      folders.map(() => initialToken),
    );
    const passwords = (await Promise.all(folders.map((path) => password(path).catch(() => '')))).filter(
      (text) => text !== '',
    );
    expect(passwords).toHaveLength(1);
    expect(await isPassword(passwords[0]!)).toBe(true);
  });

  test.each([
    ['token', 'admin-token'],
    ['password', 'initial-admin-password'],
  ])('that cannot write the %s creates no user, and the next one succeeds', async (_reason, name) => {
    await mkdir(join(data, name, 'in the way'), { recursive: true });
    await expect(ensure()).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/);
    expect([await admins(), await countTokens()]).toEqual([[], 0]);
    await rm(join(data, name), { recursive: true });
    await ensure();
    expect([await isPassword(await password()), await isAdmin(await tokenIn())]).toEqual([true, true]);
  });

  test('uses the files of a process that ended before its commit', async () => {
    await ensure();
    const before = [await password(), await tokenIn()];
    await empty();
    await ensure();
    expect([await password(), await tokenIn()]).toEqual(before);
    expect([await isPassword(before[0]!), await isAdmin(before[1]!)]).toEqual([true, true]);
  });
});

describe('later starts', () => {
  test('change nothing, whatever the options say', async () => {
    await ensure();
    const [before, text, token] = [await admins(), await password(), await tokenIn()];
    await ensure({ initialPassword: 'another password' });
    await ensure({ initialPassword: 'bad' });
    expect([await admins(), await password(), await tokenIn(), await countTokens()]).toEqual([before, text, token, 1]);
    const initialToken = newPersonalToken();
    await ensure({ initialToken });
    expect(await tokenIn()).toBe(token);
    expect([await isAdmin(token), await isAdmin(initialToken)]).toEqual([true, true]);
    expect(
      (await database.pool.query<{ name: string }>('SELECT name FROM access.personal_tokens ORDER BY name')).rows.map(
        ({ name }) => name,
      ),
    ).toEqual(['initial-admin-token', expect.stringMatching(/^initial-admin-token-[0-9a-f]{8}$/)]);
  });

  test('create a new token if the file is missing, and the old one stays valid; a missing password is not replaced', async () => {
    await ensure();
    const [old, text] = [await tokenIn(), await password()];
    await rm(data, { recursive: true });
    await ensure();
    const fresh = await tokenIn();
    expect(fresh).not.toBe(old);
    expect([await isAdmin(old), await isAdmin(fresh), await isPassword(text)]).toEqual([true, true, true]);
    expect(await readdir(data)).toEqual(['admin-token']);
  });

  test('warn about a file of another database, whose token is not accepted here', async () => {
    await ensure();
    const foreign = newPersonalToken();
    await writeFile(file, foreign);
    messages = [];
    await ensure();
    expect(messages).toEqual([
      'the database does not know the token in this file; remove the file, and the next start creates a new token',
    ]);
    expect(await isAdmin(foreign)).toBe(false);
  });

  test('do not restore a revoked token, by file or by option', async () => {
    const initialToken = newPersonalToken();
    await ensure({ initialToken });
    await database.pool.query('UPDATE access.personal_tokens SET revoked = now()');
    await ensure({ initialToken });
    expect(await isAdmin(initialToken)).toBe(false);
  });

  test('do not restore a deleted administrator, and create no token for another user of that name', async () => {
    await ensure();
    const token = await tokenIn();
    await addOther();
    await database.pool.query("DELETE FROM access.users WHERE username = 'admin'");
    await ensure();
    expect([await admins(), await countTokens()]).toEqual([[], 0]);
    await database.pool.query(
      "INSERT INTO access.users (username, username_key, name, search_text, created_by) VALUES ('admin', 'admin', 'Another', 'admin', 'mia')",
    );
    await rm(data, { recursive: true });
    await ensure({ initialToken: token });
    expect([(await admins())[0]!.hash, await countTokens(), await who(token)]).toEqual([null, 0, undefined]);
  });

  test('do not change an administrator who was created without a password', async () => {
    await addOther();
    await ensure();
    await database.pool.query(
      `WITH u AS (INSERT INTO access.users (username, username_key, name, search_text, created_by) VALUES ('admin', 'admin', 'A', 'a', 'mia') RETURNING id)
        INSERT INTO access.system_role_bindings (user_id, role) SELECT id, 'SystemAdmin' FROM u`,
    );
    await ensure();
    expect((await admins())[0]!.hash).toBeNull();
    expect(await readdir(data)).toEqual(['admin-token']);
  });
});

describe('a database of the last release', () => {
  test('keeps its tokens, and its administrator gets a password', async () => {
    const old = await createTestDatabase();
    const upgraded = await Database.connect({ connection: old.connection, log: silentLog });
    try {
      await migrate(upgraded, 'access', accessMigrations.slice(0, 1));
      const tokens = [newPersonalToken(), newPersonalToken(), newPersonalToken()];
      const add = (token: string): Promise<unknown> =>
        upgraded.pool.query(
          "INSERT INTO access.personal_tokens (name, username, hash) VALUES ('initial-admin-token', 'admin', $1)",
          [TokenStore.hash(token)],
        );
      await add(tokens[0]!);
      await add(tokens[1]!);
      await migrate(upgraded, 'access', accessMigrations);
      // As a replica of the previous release adds it.
      await add(tokens[2]!);
      const known = new PersonalTokenAuthenticator(new TokenStore(upgraded), {
        noteUse: () => {},
        noteFailure: () => {},
      });
      const isMaster = async (token: string): Promise<boolean> =>
        (await known.authenticateToken(token))?.groups.includes('system:masters') === true;
      expect(await Promise.all(tokens.map(isMaster))).toEqual([true, true, true]);
      await mkdir(data, { recursive: true });
      await writeFile(file, tokens[0]!);
      await ensure({ database: new AccessDatabase(upgraded), audit: new Audit(new AccessDatabase(upgraded)) });
      expect(await tokenIn()).toBe(tokens[0]);
      expect(await Promise.all(tokens.map(isMaster))).toEqual([true, true, true]);
      const { rows } = await upgraded.pool.query<{ names: string; owned: string; hash: string }>(
        'SELECT count(DISTINCT t.name) AS names, count(t.user_id) AS owned, min(u.password_hash) AS hash FROM access.personal_tokens t, access.users u',
      );
      expect(rows[0]).toMatchObject({ names: '3', owned: '3' });
      expect((await hasher.verify(rows[0]!.hash, await password())).isCorrect).toBe(true);
    } finally {
      await upgraded.close();
      await old.drop();
    }
  });

  test('gives its tokens of a name to no user who was created later with that name', async () => {
    const token = newPersonalToken();
    await database.pool.query(
      "INSERT INTO access.personal_tokens (name, username, hash, created) VALUES ('old', 'mia', $1, now() - interval '1 day')",
      [TokenStore.hash(token)],
    );
    expect(await who(token)).toBeUndefined();
    await addOther();
    await ensure();
    expect(await who(token)).toBeUndefined();
  });
});
