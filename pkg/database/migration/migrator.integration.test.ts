import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { Database } from '../database.ts';
import { silentLog } from '../log.ts';
import type { Migration } from './migration-steps.ts';
import { migrate, migrateWithin } from './migrator.ts';

let home: TestDatabase;
let databases: Database[];
beforeAll(async () => {
  home = await createTestDatabase();
  databases = await Promise.all(
    [1, 2, 3, 4].map(() => Database.connect({ connection: home.connection, log: silentLog })),
  );
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.close()));
  await home.drop();
});

function first(): Database {
  const [database] = databases;
  if (database === undefined) throw new Error('no database');
  return database;
}

const built: Migration = {
  name: '0001_books',
  up: (db) => db.schema.createTable('book').addColumn('title', 'text').execute(),
};
/** Slow enough that the others wait, and longer than the time limits of the session. */
const raw: Migration = {
  name: '0002_pages',
  up: async (db) => {
    await sql`CREATE TABLE page (n int)`.execute(db);
    await sql`SELECT pg_sleep(0.3)`.execute(db);
    await sql`INSERT INTO page VALUES (1)`.execute(db);
  },
};

test('four concurrent replicas run each step once, in the schema', async () => {
  const ran = await Promise.all(databases.map((database) => migrate(database, 'shelf', [built, raw])));
  expect(ran.flat().toSorted()).toEqual(['0001_books', '0002_pages']);
  const { rows } = await first().pool.query<{ name: string }>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'shelf' ORDER BY 1",
  );
  expect(rows.map(({ name }) => name)).toEqual(['book', 'migration', 'page']);
  expect((await first().pool.query('SELECT n FROM shelf.page')).rows).toEqual([{ n: 1 }]);
  expect(await migrate(first(), 'shelf', [built, raw])).toEqual([]);
});

test('a step that waits for users of a table does not block others for long, and runs when they are done', async () => {
  await migrate(first(), 'archive', [built, raw]);
  const reader = await first().newClient();
  const dump = await first().newClient();
  await dump.query('BEGIN; LOCK TABLE archive.book IN ACCESS SHARE MODE');
  const steps: Migration[] = [
    built,
    raw,
    { name: '0003_year', up: (db) => db.schema.alterTable('book').addColumn('year', 'integer').execute() },
  ];
  const ran = migrate(first(), 'archive', steps);
  const isWaiting = async (): Promise<boolean> =>
    (await reader.query("SELECT FROM pg_locks WHERE NOT granted AND relation = 'archive.book'::regclass")).rowCount ===
    1;
  while (!(await isWaiting()));
  expect((await reader.query('SELECT title FROM archive.book')).rows).toEqual([]);
  await dump.query('COMMIT');
  expect(await ran).toEqual(['0003_year']);
  await Promise.all([reader.end(), dump.end()]);
});

test("a step has no statement timeout, whatever the user's setting", async () => {
  const limited = await Database.connect({
    connection: { ...home.connection, options: '-c statement_timeout=250' },
    log: silentLog,
    statementTimeoutMs: 250,
  });
  expect(await migrate(limited, 'patient', [built, raw])).toEqual(['0001_books', '0002_pages']);
  await limited.close();
});

test('the locks of a step are released if its process freezes or ends', async () => {
  let limit: unknown;
  const asking: Migration = {
    name: '0003_asking',
    up: async (db) => {
      limit = (await sql`SHOW idle_in_transaction_session_timeout`.execute(db)).rows;
    },
  };
  await migrate(first(), 'frozen', [built, raw, asking]);
  expect(limit).toEqual([{ idle_in_transaction_session_timeout: '10s' }]);
});

test('schemas are migrated independently', async () => {
  expect(await migrate(first(), 'cellar', [built])).toEqual(['0001_books']);
});

test('a failed step changes nothing and can run again', async () => {
  const failing: Migration = {
    name: '0002_pages',
    up: async (db) => {
      await sql`CREATE TABLE page (n int)`.execute(db);
      await sql`INSERT INTO page VALUES ('many')`.execute(db);
    },
  };
  await expect(migrate(first(), 'attic', [built, failing])).rejects.toThrow(
    /Migration 0002_pages of schema attic failed and was undone: invalid input syntax/,
  );
  expect(await migrate(first(), 'attic', [built, raw])).toEqual(['0002_pages']);
});

test('a user who may not create schemas can use an existing one', async () => {
  const user = `${home.name}_user`;
  await first().pool.query(`CREATE ROLE ${user}; CREATE SCHEMA granted AUTHORIZATION ${user}`);
  const pool = await Database.connect({
    connection: { ...home.connection, options: `-c role=${user}` },
    log: silentLog,
  });
  expect(await migrate(pool, 'granted', [built])).toEqual(['0001_books']);
  await pool.close();
  await first().pool.query(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`);
});

test('a user who may not create tables can start if nothing is pending', async () => {
  const user = `${home.name}_reader`;
  await migrate(first(), 'done', [built]);
  await first().pool.query(
    `CREATE ROLE ${user}; GRANT USAGE ON SCHEMA done TO ${user}; ALTER TABLE done.migration OWNER TO ${user}; ALTER TABLE done.book OWNER TO ${user}`,
  );
  const pool = await Database.connect({
    connection: { ...home.connection, options: `-c role=${user}` },
    log: silentLog,
  });
  expect(await migrate(pool, 'done', [built])).toEqual([]);
  await pool.close();
  await first().pool.query(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`);
});

test('a schema can be migrated to an earlier step, and later further', async () => {
  expect(await migrate(first(), 'half', [built, raw], { through: built.name })).toEqual([built.name]);
  expect(await migrate(first(), 'half', [built, raw], { through: built.name })).toEqual([]);
  expect(await migrate(first(), 'half', [built, raw])).toEqual([raw.name]);
  expect(await migrate(first(), 'half', [built, raw], { through: built.name })).toEqual([]);
  await expect(migrate(first(), 'half', [built, raw], { through: '0003_year' })).rejects.toThrow(
    'Schema half has no migration 0003_year in this version of the program.',
  );
});

test("within the caller's transaction all steps run, or none", async () => {
  const steps = (): Promise<string[]> =>
    first()
      .kysely.transaction()
      .execute(async (transaction) => {
        const ran = await migrateWithin(transaction, 'whole', [built, raw]);
        await sql`INSERT INTO whole.page VALUES (2)`.execute(transaction);
        return ran;
      });
  const undone = first()
    .kysely.transaction()
    .execute(async (transaction) => {
      await migrateWithin(transaction, 'whole', [built, raw]);
      throw new Error('changed my mind');
    });
  await expect(undone).rejects.toThrow('changed my mind');
  expect((await first().pool.query("SELECT FROM pg_namespace WHERE nspname = 'whole'")).rowCount).toBe(0);
  expect(await steps()).toEqual([built.name, raw.name]);
  expect((await first().pool.query('SELECT n FROM whole.page ORDER BY n')).rows).toEqual([{ n: 1 }, { n: 2 }]);
});

describe('a program of the previous version on a newer database', () => {
  const year: Migration = {
    name: '0003_year',
    beside: raw.name,
    up: (db) => db.schema.alterTable('book').addColumn('year', 'integer').execute(),
  };
  const tags: Migration = {
    name: '0004_tags',
    beside: year.name,
    up: (db) => db.schema.createTable('tag').addColumn('n', 'integer').execute(),
  };
  const unsaid: Migration = { name: '0005_unsaid', up: (db) => db.schema.dropTable('page').execute() };

  test('starts if each newer step allows it, and changes nothing', async () => {
    await migrate(first(), 'newer', [built, raw, year]);
    expect(await migrate(first(), 'newer', [built, raw])).toEqual([]);
    await expect(migrate(first(), 'newer', [built])).rejects.toThrow(
      'migrated by a newer version of this program (0002_pages is not known here)',
    );
    await migrate(first(), 'newer', [built, raw, year, tags]);
    await expect(migrate(first(), 'newer', [built, raw])).rejects.toThrow('(0004_tags is not known here)');
    await migrate(first(), 'newer', [built, raw, year, tags, unsaid]);
    await expect(migrate(first(), 'newer', [built, raw, year, tags])).rejects.toThrow(
      '(0005_unsaid is not known here)',
    );
  });

  test('is of a different branch if it has a step that was not run', async () => {
    await migrate(first(), 'fork', [built, { ...tags, beside: built.name }]);
    await expect(migrate(first(), 'fork', [built, raw])).rejects.toThrow(
      'Schema fork lacks a migration that comes before 0004_tags',
    );
  });

  test('may be older than the record of compatible steps', async () => {
    await migrate(first(), 'unnoted', [built]);
    await first().pool.query('ALTER TABLE unnoted.migration DROP COLUMN beside');
    expect(await migrate(first(), 'unnoted', [built, raw, year])).toEqual([raw.name, year.name]);
    expect(await migrate(first(), 'unnoted', [built, raw])).toEqual([]);
  });
});

const refused = [
  {
    reason: 'migrated by a newer version',
    schema: 'shelf',
    migrations: [built],
    message: 'was migrated by a newer version of this program (0002_pages is not known here)',
  },
  {
    reason: 'a new step before an applied one',
    schema: 'shelf',
    migrations: [built, { ...raw, name: '0001_between' }, raw],
    message: 'misnamed or out of order',
  },
  {
    reason: 'a new step before an applied one, with a valid number',
    schema: 'shelf',
    migrations: [{ ...raw, name: '0000_before' }, built, raw],
    message: 'lacks a migration that comes before 0002_pages',
  },
  {
    reason: 'a step that is compatible with a later one',
    schema: 'shelf',
    migrations: [{ ...built, beside: raw.name }, raw],
    message: 'works beside 0002_pages, which does not come before it',
  },
  {
    reason: 'a name without a number',
    schema: 'shelf',
    migrations: [{ ...raw, name: 'pages' }],
    message: 'misnamed or out of order',
  },
  { reason: 'an invalid schema name', schema: 'shelf"; DROP', migrations: [], message: 'is not the name of a schema' },
];
test.each(refused)('is refused: $reason', async ({ schema, migrations, message }) => {
  await expect(migrate(first(), schema, migrations)).rejects.toThrow(message);
});
