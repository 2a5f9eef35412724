import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '../../testenv/test-database.ts';
import { Database } from '../database.ts';
import { silentLog } from '../log.ts';
import { checkMigrations, type CheckedSchema } from './check-migrations.ts';
import type { Migration } from './migration-steps.ts';
import { migrate } from './migrator.ts';

let home: TestDatabase;
let database: Database;
let user: string;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  user = `${home.name}_user`;
  await database.pool.query(`CREATE ROLE ${user}`);
});
afterAll(async () => {
  await database.pool.query(`DROP OWNED BY ${user} CASCADE; DROP ROLE ${user}`);
  await database.close();
  await home.drop();
});

const books: Migration = {
  name: '0001_books',
  up: (db) => db.schema.createTable('book').addColumn('title', 'text').execute(),
};
const pages: Migration = {
  name: '0002_pages',
  up: (db) => db.schema.alterTable('book').addColumn('pages', 'integer').execute(),
};

async function check(
  schema: string,
  migrations: readonly Migration[],
  on = database,
): Promise<CheckedSchema | undefined> {
  return (await checkMigrations(on, [{ schema, migrations }]))[0];
}

async function as(options: string, work: (database: Database) => Promise<void>): Promise<void> {
  const other = await Database.connect({ connection: { ...home.connection, options }, log: silentLog });
  try {
    await work(other);
  } finally {
    await other.close();
  }
}

const nobody = { newer: [], underWay: false, inUseBy: [] };

test('reports applied and pending migrations, and changes nothing', async () => {
  expect(await check('shelf', [books, pages])).toEqual({
    schema: 'shelf',
    applied: [],
    pending: ['0001_books', '0002_pages'],
    ...nobody,
  });
  expect((await database.pool.query("SELECT FROM pg_namespace WHERE nspname = 'shelf'")).rowCount).toBe(0);
  await migrate(database, 'shelf', [books]);
  expect(await check('shelf', [books, pages])).toEqual({
    schema: 'shelf',
    applied: ['0001_books'],
    pending: ['0002_pages'],
    ...nobody,
  });
  expect(await check('shelf', [books])).toEqual({ schema: 'shelf', applied: ['0001_books'], pending: [], ...nobody });
});

test('checks a database of an earlier version, which did not record compatible steps', async () => {
  await database.pool.query(
    "CREATE SCHEMA earlier; CREATE TABLE earlier.migration (name text PRIMARY KEY, applied timestamptz); INSERT INTO earlier.migration VALUES ('0001_books')",
  );
  expect(await check('earlier', [books])).toMatchObject({ applied: ['0001_books'], pending: [] });
});

test('reports sessions that block a pending step, and another process that migrates', async () => {
  await migrate(database, 'archive', [books]);
  const dump = await database.newClient();
  await dump.query("BEGIN; SET LOCAL application_name = 'dump'; LOCK TABLE archive.book IN ACCESS SHARE MODE");
  // The step waits for the dump and holds the lock of migrations meanwhile.
  const migrating = migrate(database, 'archive', [books, pages]);
  let checked: CheckedSchema | undefined;
  do checked = await check('archive', [books, pages]);
  while (checked?.underWay !== true || !checked.inUseBy.some(({ application }) => application === 'dump'));
  expect(checked.pending).toEqual(['0002_pages']);
  expect(await check('archive', [books])).toMatchObject({ pending: [], inUseBy: [] });
  await dump.query('COMMIT');
  await migrating;
  await dump.end();
});

describe('refuses with one sentence', () => {
  test('a database that a newer version migrated', async () => {
    await migrate(database, 'newer', [books, pages]);
    await expect(check('newer', [books])).rejects.toThrow(
      'Schema newer was migrated by a newer version of this program (0002_pages is not known here); run that version.',
    );
  });

  test('a database that a different branch migrated', async () => {
    await database.pool.query(
      "CREATE SCHEMA line; CREATE TABLE line.migration (name text); INSERT INTO line.migration VALUES ('0002_pages')",
    );
    await expect(check('line', [books, pages])).rejects.toThrow(
      'Schema line lacks a migration that comes before 0002_pages',
    );
  });

  test('a database that is read only', () =>
    as('-c default_transaction_read_only=on', async (readOnly) => {
      await expect(check('shelf', [books], readOnly)).rejects.toThrow(
        'This database is read only (default_transaction_read_only is on)',
      );
      await expect(migrate(readOnly, 'fresh', [books])).rejects.toThrow(
        'Schema fresh cannot be brought up to date: this PostgreSQL is a standby, or read only.',
      );
      // Also if nothing is pending.
      await migrate(database, 'settled', [books]);
      await expect(migrate(readOnly, 'settled', [books])).rejects.toThrow(
        'Schema settled cannot be brought up to date: this PostgreSQL is a standby, or read only.',
      );
    }));

  test('a user who may not create what is pending; without pending steps that is allowed', () =>
    as(`-c role=${user}`, async (guest) => {
      await expect(check('fresh', [books], guest)).rejects.toThrow(
        `User ${user} may not create the schema fresh; allow it (GRANT CREATE ON DATABASE`,
      );
      await expect(migrate(guest, 'fresh', [books])).rejects.toThrow(
        /^Schema fresh cannot be brought up to date: permission denied/,
      );
      await migrate(database, 'owned', [books]);
      await database.pool.query(`GRANT USAGE ON SCHEMA owned TO ${user}`);
      await expect(check('owned', [books, pages], guest)).rejects.toThrow(
        'The database cannot be checked: permission denied for table migration.',
      );
      await database.pool.query(`GRANT SELECT ON ALL TABLES IN SCHEMA owned TO ${user}`);
      await expect(check('owned', [books, pages], guest)).rejects.toThrow(
        `User ${user} may not create tables in schema owned; make the user its owner`,
      );
      await database.pool.query(`GRANT CREATE ON SCHEMA owned TO ${user}`);
      await expect(check('owned', [books, pages], guest)).rejects.toThrow(
        /owned\.book belongs to .*, and only its owner can change it/,
      );
      expect(await check('owned', [books], guest)).toMatchObject({ pending: [] });
    }));

  test('a server that is not reachable', async () => {
    const gone = await Database.connect({ connection: home.connection, log: silentLog });
    await gone.close();
    await expect(check('shelf', [books], gone)).rejects.toThrow(/^PostgreSQL cannot be reached: /);
  });
});
