import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { accessMigrations, PersonalTokenAuthenticator, TokenStore } from '#pkg/access/index';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { isPersonalToken, newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { explainStartFailure } from '../process/start-failure.ts';
import { databaseUrlOf } from '../start-test-program.ts';
import { runCommandLine } from './command-line.ts';

let home: TestDatabase;
let database: Database;
let folder: string;
let file: string;
let count = 0;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  folder = await mkdtemp(join(tmpdir(), 'svc-create-token-'));
});
beforeEach(async () => {
  await database.pool.query('TRUNCATE access.users, access.operate_logs CASCADE');
  count += 1;
  file = join(folder, String(count), 'token');
});
afterAll(async () => {
  await database.close();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

/** Its exit code and what it says; it prints nothing on stdout. */
async function create(...args: string[]): Promise<[number, string]> {
  let said = '';
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      said += name === 'stdout' ? `stdout: ${String(text)}` : String(text);
      return true;
    }),
  );
  const where = [`--svc.data.dir=${folder}`, `--svc.database.url=${databaseUrlOf(home)}`];
  try {
    return [await runCommandLine(['create-token', ...args, ...where], {}), said];
  } catch (error) {
    return [1, explainStartFailure(error) ?? String(error)];
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
const forControllers = (...more: string[]): Promise<[number, string]> =>
  create('--for=controller-manager', `--file=${file}`, ...more);
const token = async (path = file): Promise<string> => (await readFile(path, 'utf8')).slice(0, -1);
async function userOf(text: string): Promise<string | undefined> {
  const ignore = (): void => {};
  const tokens = new PersonalTokenAuthenticator(new TokenStore(database), { noteUse: ignore, noteFailure: ignore });
  return (await tokens.authenticateToken(text))?.name;
}

describe('svc create-token', () => {
  test('writes a file that its user alone can read, and does nothing a second time', async () => {
    expect(await forControllers()).toEqual([0, `Wrote a new token of system:controller-manager into ${file}.\n`]);
    const first = await token();
    expect([isPersonalToken(first), await userOf(first)]).toEqual([true, 'system:controller-manager']);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await forControllers()).toEqual([
      0,
      `The database has the token of system:controller-manager in ${file}.\n`,
    ]);
    expect(await token()).toBe(first);
  });

  test('replaces the token; the one before is valid until all others are revoked', async () => {
    await forControllers();
    const first = await token();
    expect((await forControllers('--rotate'))[0]).toBe(0);
    const second = await token();
    expect([second === first, await userOf(first), await userOf(second)]).toEqual([
      false,
      'system:controller-manager',
      'system:controller-manager',
    ]);
    expect((await forControllers('--revoke-others'))[1]).toMatch(
      /Revoked 1 other token of system:controller-manager\.\n$/,
    );
    expect([await userOf(first), await userOf(second)]).toEqual([undefined, 'system:controller-manager']);
    await writeFile(file, first);
    expect(await forControllers()).toEqual([1, 'The token of system:controller-manager was revoked or has expired.']);
  });

  test('adds a token that was made elsewhere, to a database that does not know it', async () => {
    const made = newPersonalToken();
    await forControllers('--rotate');
    await writeFile(file, made);
    expect(await create('--for=access-server', `--file=${file}`)).toEqual([
      0,
      `The database has got the token of system:access-server in ${file}.\n`,
    ]);
    expect([await token(), await userOf(made)]).toEqual([made.slice(0, -1), 'system:access-server']);
    expect(await forControllers()).toEqual([1, 'The token belongs to another user than system:controller-manager.']);
  });

  test('keeps a file that holds something else, and stores no token that it cannot write', async () => {
    await forControllers();
    await writeFile(file, 'my notes');
    expect(await forControllers()).toEqual([
      1,
      `${file} holds no personal token; name another file, or replace its content with --rotate.`,
    ]);
    expect(await readFile(file, 'utf8')).toBe('my notes');
    const { rowCount } = await database.pool.query('SELECT 1 FROM access.personal_tokens');
    expect(await create('--for=controller-manager', `--file=${file}/below`, '--rotate')).toEqual([
      1,
      expect.stringMatching(/below cannot be written \(E[A-Z]+\)\.$/),
    ]);
    expect((await database.pool.query('SELECT 1 FROM access.personal_tokens')).rowCount).toBe(rowCount);
  });
});
