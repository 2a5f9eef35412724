import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { accessMigrations, ensureAdminToken, PersonalTokenAuthenticator, TokenStore } from '../index.ts';

let home: TestDatabase;
let database: Database;
let tokens: TokenStore;
let authenticator: PersonalTokenAuthenticator;
let folder: string;
let file: string;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  tokens = new TokenStore(database);
  authenticator = new PersonalTokenAuthenticator(tokens);
  folder = await mkdtemp(join(tmpdir(), 'svc-admin-token-'));
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE access.personal_tokens');
  await rm(folder, { recursive: true, force: true });
  file = join(folder, 'data', 'admin-token');
});
afterAll(async () => {
  await database.close();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

const read = async (): Promise<string> => (await readFile(file, 'utf8')).trim();
const isAdmin = async (token: string): Promise<boolean> => (await authenticator.authenticateToken(token))?.name === 'admin';
const count = async (): Promise<number> => (await database.pool.query('SELECT 1 FROM access.personal_tokens')).rows.length;

describe('the administrator', () => {
  test('finds a token of their own in a file nobody else can read', async () => {
    expect(await ensureAdminToken({ tokens, file })).toBe('written');
    const token = await read();
    expect(isPersonalToken(token)).toBe(true);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, 'data'))).toEqual(['admin-token']);
    expect(await authenticator.authenticateToken(token)).toEqual({ name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] });
  });

  test('finds the token of the option in it', async () => {
    const initial = newPersonalToken();
    await ensureAdminToken({ tokens, file, initial });
    expect(await read()).toBe(initial);
    expect(await isAdmin(initial)).toBe(true);
  });

  test('keeps it from start to start; another given token is added', async () => {
    await ensureAdminToken({ tokens, file });
    const token = await read();
    expect(await ensureAdminToken({ tokens, file })).toBe('kept');
    expect(await count()).toBe(1);
    const given = newPersonalToken();
    expect(await ensureAdminToken({ tokens, file, initial: given })).toBe('kept');
    expect(await read()).toBe(token);
    expect([await isAdmin(token), await isAdmin(given)]).toEqual([true, true]);
  });

  test('gets a fresh one where the file is gone, and the old one stays', async () => {
    await ensureAdminToken({ tokens, file });
    const old = await read();
    await rm(file);
    expect(await ensureAdminToken({ tokens, file })).toBe('written');
    const fresh = await read();
    expect(fresh).not.toBe(old);
    expect([await isAdmin(old), await isAdmin(fresh)]).toEqual([true, true]);
  });

  test('keeps the token of the file on an empty database', async () => {
    await ensureAdminToken({ tokens, file });
    await database.pool.query('TRUNCATE access.personal_tokens');
    expect(await ensureAdminToken({ tokens, file })).toBe('kept');
    expect(await isAdmin(await read())).toBe(true);
  });

  test('is told of a file that another database knows, and it opens nothing here', async () => {
    await ensureAdminToken({ tokens, file });
    const foreign = newPersonalToken();
    await writeFile(file, foreign);
    expect(await ensureAdminToken({ tokens, file })).toBe('foreign');
    expect(await isAdmin(foreign)).toBe(false);
  });

  test('does not see a revoked token revived, by file or by option', async () => {
    const initial = newPersonalToken();
    await ensureAdminToken({ tokens, file, initial });
    await database.pool.query('UPDATE access.personal_tokens SET revoked = now()');
    expect(await ensureAdminToken({ tokens, file, initial })).toBe('kept');
    expect(await isAdmin(initial)).toBe(false);
  });

  test('has one token from many starts at once on one folder, and one each on folders of their own', async () => {
    await Promise.all(Array.from({ length: 8 }, () => ensureAdminToken({ tokens, file })));
    expect(await count()).toBe(1);
    const initial = newPersonalToken();
    await Promise.all(Array.from({ length: 8 }, (_, index) => ensureAdminToken({ tokens, file: join(folder, `replica-${index}`, 'token'), initial })));
    expect(await count()).toBe(2);
  });

  test('is left without a row where the file cannot be written', async () => {
    await ensureAdminToken({ tokens, file: join(folder, 'other') });
    await writeFile(join(folder, 'blocked'), '');
    await expect(ensureAdminToken({ tokens, file: join(folder, 'blocked', 'admin-token') })).rejects.toThrow(/ENOTDIR|EEXIST/);
    await chmod(join(folder, 'blocked'), 0o600);
    expect(await count()).toBe(1);
  });
});

describe('a token', () => {
  const cases: { reason: string; change: string }[] = [
    { reason: 'that was revoked is nobody from the next request on', change: 'SET revoked = now()' },
    { reason: 'that has expired is nobody', change: "SET expires = now() - interval '1 second'" },
  ];
  test.each(cases)('$reason', async ({ change }) => {
    await ensureAdminToken({ tokens, file });
    const token = await read();
    expect(await isAdmin(token)).toBe(true);
    await database.pool.query(`UPDATE access.personal_tokens ${change}`);
    expect(await isAdmin(token)).toBe(false);
  });

  test('of another user is no master', async () => {
    const token = newPersonalToken();
    await tokens.exclusively((writer) => writer.add({ name: 'mine', username: 'mia', token }));
    expect(await authenticator.authenticateToken(token)).toEqual({ name: 'mia', uid: '', groups: ['system:authenticated'] });
  });

  test('is kept as a hash only', async () => {
    await ensureAdminToken({ tokens, file });
    const { rows } = await database.pool.query<{ row: string }>('SELECT t::text AS row FROM access.personal_tokens t');
    expect(rows[0]?.row).not.toContain(await read());
  });

  test('in the wrong form, or with a wrong checksum, costs no query', async () => {
    const asked: string[] = [];
    const silent = new PersonalTokenAuthenticator({
      findOwner: async (hash) => {
        asked.push(hash.toString('hex'));
        return undefined;
      },
    });
    const token = newPersonalToken();
    for (const wrong of ['', 'pat_', `${token}x`, `${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`]) {
      expect(await silent.authenticateToken(wrong)).toBeUndefined();
    }
    expect(asked).toEqual([]);
  });

  test('is 503 while the database is away', async () => {
    const away = new PersonalTokenAuthenticator({ findOwner: () => Promise.reject(new Error('away')) });
    await expect(away.authenticateToken(newPersonalToken())).rejects.toMatchObject({ code: 503 });
  });
});
