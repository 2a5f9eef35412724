import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  AccessDatabase,
  accessMigrations,
  Audit,
  LoginFailures,
  openKeyRing,
  PrivateTokens,
  SecretBox,
} from '#pkg/access/index';
import { Database, EmbeddedPostgres, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { runCommandLine } from './command-line.ts';
import { explainStartFailure } from '../process/start-failure.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

let home: TestDatabase;
let database: Database;
let access: AccessDatabase;
let folder: string;
let dataDir: string;
let count = 0;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  await migrate(database, 'access', accessMigrations);
  access = new AccessDatabase(database);
  // PostgreSQL, which runs as another user if the tests run as root, must be able to enter.
  folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-operator-'));
  await chmod(folder, 0o711);
});
beforeEach(async () => {
  await database.pool.query(
    'TRUNCATE access.users, access.key_checks, access.login_failures, access.operate_logs CASCADE',
  );
  await addMia(database);
  count += 1;
  dataDir = join(folder, String(count));
});
afterEach(killPrograms);
afterAll(async () => {
  await database.close();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

async function addMia({ pool }: Database): Promise<void> {
  await pool.query(
    "INSERT INTO access.users (username, username_key, name, email, email_key, search_text) VALUES ('Mia', 'mia', 'Mia', 'Mia@example.com', 'mia@example.com', 'mia')",
  );
}

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** In this process, because starting one takes long. */
async function run(...args: string[]): Promise<Ended> {
  const ended: Ended = { code: null, stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((name) =>
    jest.spyOn(process[name], 'write').mockImplementation((text) => {
      ended[name] += String(text);
      return true;
    }),
  );
  try {
    ended.code = await runCommandLine(args, {});
  } catch (error) {
    ended.code = 1;
    ended.stderr += explainStartFailure(error) ?? String(error);
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return ended;
}

async function runProgram(...args: string[]): Promise<Ended> {
  const program = new Program(args);
  const code = await program.exited;
  return { code, stdout: program.stdout, stderr: program.stderr };
}

/** At any position among the words. */
const onUrl = (): string[] => [`--svc.data.dir=${dataDir}`, '--svc.database.url', databaseUrlOf(home)];
const aToken = /^[0-9a-f]{40}\n$/;

describe('svc private-token', () => {
  test('prints only the token, and reports a failure in one sentence', async () => {
    const created = await runProgram('private-token', 'create', ...onUrl(), '--user', 'MIA', '--svc.log.level=trace');
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(aToken) });
    expect(created.stderr).not.toContain(created.stdout.trim());
    expect(await run('private-token', 'show', '--user=mia', ...onUrl())).toEqual({
      code: 0,
      stdout: created.stdout,
      stderr: '',
    });
    const refusals: { args: string[]; sentence: string | RegExp }[] = [
      {
        args: ['create', '--user=mia', ...onUrl()],
        sentence: 'The user "Mia" has a private token already; svc private-token show prints it, rotate replaces it.',
      },
      { args: ['show', '--user=nobody', ...onUrl()], sentence: 'There is no user "nobody".' },
      {
        args: ['rotate', '--user=mia', ...onUrl(), `--svc.data.dir=${dataDir}/other`],
        sentence:
          /^The secrets in this database are sealed with a key, and there is none in .*\/other\/secret-key; [^\n]*$/,
      },
      {
        args: ['show', '--user=mia', `--svc.data.dir=${dataDir}/other`],
        sentence:
          /^There is no database in .*\/other; set svc\.data\.dir or svc\.database\.url as the server has it\.$/,
      },
    ];
    for (const { args, sentence } of refusals) {
      expect(await run('private-token', ...args)).toEqual({
        code: 1,
        stdout: '',
        stderr: typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
      });
    }
    expect(await readdir(dataDir)).toEqual(['secret-key']);

    const fresh = await run('private-token', 'rotate', '--user=mia', ...onUrl());
    expect(fresh).toMatchObject({ code: 0, stdout: expect.stringMatching(aToken), stderr: '' });
    expect(fresh.stdout).not.toBe(created.stdout);
    expect(await run('private-token', 'delete', '--user=mia', ...onUrl())).toEqual({
      code: 0,
      stdout: '',
      stderr: 'The private token is deleted.\n',
    });
    const none = await run('private-token', 'show', '--user=mia', ...onUrl());
    expect(none).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The user "Mia" has no private token; svc private-token create makes one.',
    });
    const { rows } = await database.pool.query<{ action: string }>(
      'SELECT action FROM access.operate_logs ORDER BY id',
    );
    expect(rows.map(({ action }) => action)).toEqual(['create', 'show', 'rotate', 'delete']);
  });

  test('works next to a server with the embedded PostgreSQL, which continues, and without one', async () => {
    const embedded = await EmbeddedPostgres.start({ dataDir, log: silentLog, settings: { fsync: 'off' } });
    const server = await Database.connect({ connection: embedded.connection, log: silentLog });
    await migrate(server, 'access', accessMigrations);
    await addMia(server);
    const created = await runProgram('private-token', 'create', '--user=mia', `--svc.data.dir=${dataDir}`);
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(aToken), stderr: '' });
    expect((await server.pool.query('SELECT 1 FROM access.private_tokens')).rows).toHaveLength(1);
    expect(await readFile(join(dataDir, 'owner.pid'), 'utf8')).toBe(`${process.pid}\n`);
    await server.close();
    await embedded.stop();
    expect(
      await run('private-token', 'show', '--user=mia', `--svc.data.dir=${dataDir}`, '--svc.log.level=silent'),
    ).toEqual({ code: 0, stdout: created.stdout, stderr: '' });
    // No PostgreSQL is left running.
    expect(await readdir(dataDir)).not.toContain('owner.pid');
    const pgdata = (await readdir(dataDir)).find((name) => name.startsWith('pgdata-'))!;
    expect(await readdir(join(dataDir, pgdata))).not.toContain('postmaster.pid');
  });
});

test('svc unblock resets the failures of a user, by username or e-mail, and of an unknown name', async () => {
  const failures = new LoginFailures(access);
  const limit = { failures: 1, seconds: 1800, isExtended: true };
  const keys = ['user:mia', 'user:nobody', 'user:other'];
  const blocked = async (): Promise<boolean[]> =>
    Promise.all(keys.map(async (key) => (await failures.take(key, limit)).isLocked));
  await blocked();
  expect(await blocked()).toEqual([true, true, true]);
  expect(await run('unblock', '--user=MIA@example.com', ...onUrl())).toEqual({
    code: 0,
    stdout: '',
    stderr: 'Failed logins of Mia are reset.\n',
  });
  expect(await run('unblock', '--user', ' Nobody ', ...onUrl())).toEqual({
    code: 0,
    stdout: '',
    stderr: 'There is no such user; failed logins with this name are reset.\n',
  });
  expect(await blocked()).toEqual([false, false, true]);
  const { rows } = await database.pool.query<{ resource: string }>(
    "SELECT resource FROM access.operate_logs WHERE action = 'unblock' ORDER BY resource",
  );
  expect(rows.map(({ resource }) => resource)).toEqual([' Nobody ', 'Mia']);
});

test('svc revoke-tokens revokes the tokens of one user, by name or all, with a row of the audit each', async () => {
  await database.pool.query(
    "INSERT INTO access.users (username, username_key, name, search_text) VALUES ('ben', 'ben', 'Ben', 'ben')",
  );
  await database.pool.query(
    `INSERT INTO access.personal_tokens (name, username, user_id, hash)
     SELECT token, '', id, sha256(convert_to(username || token, 'UTF8'))
     FROM access.users, (VALUES ('build'), ('deploy'), ('laptop')) t (token)`,
  );
  const ended = (stderr: string) => ({ code: 0, stdout: '', stderr });
  expect(await run('revoke-tokens', '--user=mia', '--name=build', ...onUrl())).toEqual(
    ended('Revoked 1 personal token of Mia: build.\n'),
  );
  expect(await run('revoke-tokens', '--user=MIA@example.com', ...onUrl())).toEqual(
    ended('Revoked 2 personal tokens of Mia: deploy, laptop.\n'),
  );
  expect(await run('revoke-tokens', '--user=mia', ...onUrl())).toEqual(
    ended('Mia has no such personal token that is not revoked.\n'),
  );
  expect(await run('revoke-tokens', '--user=nobody', ...onUrl())).toMatchObject({
    code: 1,
    stderr: 'There is no user "nobody".',
  });
  const { rows } = await database.pool.query(
    "SELECT resource, detail FROM access.operate_logs WHERE action = 'revoke' ORDER BY id",
  );
  expect(rows).toEqual(['build', 'deploy', 'laptop'].map((resource) => ({ resource, detail: 'of Mia' })));
  const valid = await database.pool.query(
    'SELECT u.username, count(*)::int FROM access.personal_tokens t JOIN access.users u ON u.id = t.user_id WHERE t.revoked IS NULL GROUP BY 1',
  );
  expect(valid.rows).toEqual([{ username: 'ben', count: 3 }]);
});

test('svc rotate-keys seals again while a server runs, drops old keys, and prints only counts', async () => {
  const serverKeys = await openKeyRing(access, { dataDir });
  const server = new PrivateTokens({ database: access, box: new SecretBox(serverKeys), audit: new Audit(access) });
  const token = await server.create('mia');
  const first = serverKeys.primary.reveal();
  const rotated = await run('rotate-keys', ...onUrl());
  expect(rotated).toEqual({
    code: 0,
    stdout: `Sealed anew: 0 access keys, 1 private token, 0 Secrets.\nThere is a new key in ${dataDir}/secret-key.\nNothing needs the old keys any more: svc rotate-keys --drop-old removes them.\n`,
    stderr: '',
  });
  expect(await server.findOwner(token)).toBeDefined();
  const dropped = await run('rotate-keys', '--drop-old', ...onUrl());
  expect(dropped).toEqual({
    code: 0,
    stdout: `Sealed anew: 0 access keys, 0 private tokens, 0 Secrets.\n1 old key dropped from ${dataDir}/secret-key.\n`,
    stderr: '',
  });
  expect(await server.show('mia')).toBe(token);
  expect(await readFile(join(dataDir, 'secret-key'), 'utf8')).not.toContain(first);
});
