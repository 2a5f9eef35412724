import { hostname } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { CuttingProxy } from '../testenv/cutting-proxy.ts';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { Database } from './database.ts';
import { silentLog } from './log.ts';

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({
    connection: home.connection,
    log: silentLog,
    statementTimeoutMs: 5_000,
    poolSize: 3,
  });
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

test('kysely and the pool use the same database', async () => {
  await database.pool.query('CREATE TABLE drawer (name text)');
  await database.kysely.withTables<{ drawer: { name: string } }>().insertInto('drawer').values({ name: 'a' }).execute();
  const { rows } = await sql<{ n: string }>`SELECT count(*) AS n FROM drawer`.execute(database.kysely);
  expect(rows).toEqual([{ n: '1' }]);
});

test('a template is copied with its content', async () => {
  const template = await createTestDatabase();
  const original = await Database.connect({ connection: template.connection, log: silentLog });
  await original.pool.query('CREATE TABLE drawer (name text)');
  await original.close();
  const copy = await createTestDatabase({ template: template.name });
  const copied = await Database.connect({ connection: copy.connection, log: silentLog });
  expect((await copied.pool.query('SELECT * FROM drawer')).rows).toEqual([]);
  await copied.close();
  await Promise.all([copy.drop(), template.drop()]);
});

describe('sessions', () => {
  const cases = [
    { reason: 'the main pool has its limit', pool: () => database.pool, setting: 'statement_timeout', value: '5s' },
    {
      reason: 'the main pool has its application name',
      pool: () => database.pool,
      setting: 'application_name',
      value: `svc main ${process.pid}@${hostname()}`.slice(0, 63),
    },
    {
      reason: 'another pool has its own',
      pool: () => database.newPool({ name: 'reads', max: 1 }),
      setting: 'application_name',
      value: `svc reads ${process.pid}@${hostname()}`.slice(0, 63),
    },
    {
      reason: 'another pool has no limit by default',
      pool: () => database.newPool({ max: 1 }),
      setting: 'statement_timeout',
      value: '0',
    },
    {
      reason: 'settings apply before the first statement',
      pool: () => database.newPool({ max: 2, settings: { enable_seqscan: 'off', work_mem: '8MB' } }),
      setting: 'work_mem',
      value: '8MB',
    },
  ];
  test.each(cases)('$reason', async ({ pool, setting, value }) => {
    const sessions = pool();
    const answers = await Promise.all(
      [1, 2].map(() => sessions.query('SELECT current_setting($1) AS value', [setting])),
    );
    expect(answers.map(({ rows }) => rows)).toEqual([[{ value }], [{ value }]]);
  });

  test('see what is committed meanwhile, whatever the default isolation of the database', async () => {
    await database.pool.query(`ALTER DATABASE ${home.name} SET default_transaction_isolation = 'repeatable read'`);
    const pool = database.newPool({ max: 1, settings: { work_mem: '8MB' } });
    expect((await pool.query('SHOW transaction_isolation')).rows).toEqual([
      { transaction_isolation: 'read committed' },
    ]);
    await database.pool.query(`ALTER DATABASE ${home.name} RESET default_transaction_isolation`);
  });

  test('an unknown setting fails the query, not the process', async () => {
    const pool = database.newPool({ max: 1, settings: { no_such_setting: '1' } });
    await expect(pool.query('SELECT 1')).rejects.toThrow('no_such_setting');
  });
});

test('a broken connection fails its query and is replaced', async () => {
  const client = await database.pool.connect();
  const dedicated = await database.newClient();
  const lost = new Promise((resolve) => dedicated.once('end', resolve));
  await database.pool.query('SELECT 1');
  await client.query('BEGIN');
  const terminator = await database.newClient();
  await terminator.query(
    'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  await lost;
  await expect(client.query('SELECT 1')).rejects.toThrow();
  client.release(true);
  expect((await database.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
});

describe('connecting', () => {
  const cases = [
    { reason: 'nothing given', options: {}, message: 'needs either a url or a connection' },
    { reason: 'not a url', options: { url: 'me:secret@localhost' }, message: 'The database url cannot be read' },
    {
      reason: 'an incomplete url',
      options: { url: 'postgres://me:secret@[' },
      message: 'PostgreSQL cannot be reached: ',
    },
    {
      reason: 'nobody there',
      options: { url: 'postgres://me:secret@127.0.0.1:1/x' },
      message: 'PostgreSQL cannot be reached: ',
    },
  ];
  test.each(cases)('$reason', async ({ options, message }) => {
    const failure = await Database.connect({ ...options, log: silentLog, connectionTimeoutMs: 2_000 }).catch(
      (error: Error) => error,
    );
    expect(failure).toMatchObject({ name: 'DatabaseError', message: expect.stringContaining(message) });
    expect(failure).toMatchObject({ message: expect.not.stringContaining('secret') });
  });

  test('waits for a server that starts, with one warning', async () => {
    const { proxy: before, connection } = await CuttingProxy.start(home.connection);
    await before.stop();
    const said: string[] = [];
    let coming: ReturnType<typeof CuttingProxy.start> | undefined;
    const warn = (_details: object, message: string): void => {
      said.push(message);
      coming ??= CuttingProxy.start(home.connection, connection.port);
    };
    const late = await Database.connect({ connection, log: { ...silentLog, warn }, startTimeoutMs: 60_000 });
    expect((await late.pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(said).toEqual(['PostgreSQL cannot be reached; trying again']);
    await late.close();
    await (await coming!).proxy.stop();
  });

  test('does not wait if the server refuses it', async () => {
    const connecting = Database.connect({
      connection: { ...home.connection, database: 'nowhere' },
      log: silentLog,
      startTimeoutMs: 600_000,
    });
    await expect(connecting).rejects.toThrow(/database "nowhere" does not exist/);
  });
});

test('a closed database opens nothing more', async () => {
  const closed = await Database.connect({ connection: home.connection, log: silentLog });
  const client = await closed.newClient();
  await Promise.all([closed.close(), closed.close()]);
  await expect(client.query('SELECT 1')).rejects.toThrow();
  await expect(closed.newClient()).rejects.toThrow('The database is closed.');
  expect(() => closed.newPool({ max: 1 })).toThrow('The database is closed.');
});
