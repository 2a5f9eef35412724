import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { sql, type Generated } from 'kysely';
import type { Pool } from 'pg';
import { createTestDatabase, type TestDatabase } from '../testenv/test-database.ts';
import { Database } from './database.ts';
import { silentLog } from './log.ts';
import { PreparedStatement, queryBuilder, runQuery, type Placeholders } from './run-query.ts';

interface Notes {
  id: Generated<number>;
  text: string | null;
}

const builder = queryBuilder.withTables<{ notes: Notes }>();
let home: TestDatabase;
let database: Database;
let pool: Pool;

beforeAll(async () => {
  home = await createTestDatabase();
  database = await Database.connect({ connection: home.connection, log: silentLog });
  pool = database.newPool({ max: 1 });
  await pool.query('CREATE TABLE notes (id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY, text text)');
});
beforeEach(async () => {
  await pool.query("TRUNCATE notes RESTART IDENTITY; INSERT INTO notes (text) VALUES ('a'), ('b'), (NULL)");
});
afterAll(async () => {
  await database.close();
  await home.drop();
});

const prepared = async (): Promise<string[]> =>
  (await pool.query<{ name: string }>('SELECT name FROM pg_prepared_statements ORDER BY name')).rows.map(
    ({ name }) => name,
  );

test('a query returns what pg returns, and is prepared if it has a name', async () => {
  const { rows } = await runQuery(pool, builder.selectFrom('notes').select('id').where('text', '=', 'b'));
  expect(rows).toEqual([{ id: 2 }]);
  expect(await prepared()).toEqual([]);
  for (const text of ['b', 'c']) {
    const { rowCount } = await runQuery(pool, builder.deleteFrom('notes').where('text', '=', text), 'note-delete');
    expect(rowCount).toBe(text === 'b' ? 1 : 0);
  }
  expect(await prepared()).toEqual(['note-delete']);
  expect((await runQuery(pool, sql<{ n: number }>`SELECT ${1}::integer AS n`)).rows).toEqual([{ n: 1 }]);
});

test('a prepared statement is compiled once, and has new values each time', async () => {
  let count = 0;
  const rename = new PreparedStatement('note-rename', ($: Placeholders<{ from: string; to: string | null }>) => {
    count += 1;
    return builder
      .updateTable('notes')
      .set({ text: $.to })
      .where('text', '=', $.from)
      .where('id', '<', 3)
      .where(sql<boolean>`${$.from} <> 'x'`)
      .returning(['id', 'text']);
  });
  expect((await rename.run(pool, { from: 'a', to: 'c' })).rows).toEqual([{ id: 1, text: 'c' }]);
  expect((await rename.run(pool, { from: 'c', to: null })).rows).toEqual([{ id: 1, text: null }]);
  expect((await rename.run(pool, { from: 'none', to: 'd' })).rowCount).toBe(0);
  expect(count).toBe(1);
  expect(await prepared()).toContain('note-rename');
});

test('the builder cannot run a query by itself', async () => {
  await expect(builder.selectFrom('notes').selectAll().execute()).rejects.toThrow('runQuery');
});
