import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Database, migrate, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../pkg/testenv/test-database.ts';
import { backedUpSchemas } from './backed-up-schemas.ts';

let home: TestDatabase;
let database: Database;
beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  for (const { name, migrations } of backedUpSchemas) await migrate(database, name, migrations);
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

test.each(backedUpSchemas)('a backup of $name knows the tables, columns and sequences that migrations make, and no others', async ({ name, tables, sequences, leftOut }) => {
  const { rows } = await database.pool.query<{ table: string; columns: string[] }>(
    `SELECT relname AS table, array_agg(attname::text ORDER BY attnum) AS columns FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
     WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relpersistence = 'p' AND relname <> 'migration' AND NOT relname = ANY ($2) GROUP BY relname`,
    [name, leftOut],
  );
  expect(tables).toEqual(Object.fromEntries(rows.map(({ table, columns }) => [table, columns])));
  const { rows: numbers } = await database.pool.query<{ name: string }>('SELECT sequencename AS name FROM pg_sequences WHERE schemaname = $1 ORDER BY 1', [name]);
  expect(sequences).toEqual(numbers.map((each) => each.name));
});
