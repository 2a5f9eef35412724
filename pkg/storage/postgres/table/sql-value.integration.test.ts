import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Database, silentLog } from '#pkg/database/index';
import { createTestDatabase, type TestDatabase } from '../../../testenv/test-database.ts';
import { textArray } from './sql-value.ts';

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await Database.connect({ connection: testDatabase.connection, log: silentLog });
});

afterAll(async () => {
  await database.close();
  await testDatabase.drop();
});

const element = fc.option(fc.string({ unit: 'binary' }).filter((text) => !text.includes('\u0000')));

test('PostgreSQL reads the same value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(element, { minLength: 1 }), async (elements) => {
      const { rows } = await database.pool.query<{ back: string[] }>('SELECT $1::text[] AS back', [
        textArray(elements),
      ]);
      expect(rows[0]!.back).toEqual(elements);
    }),
    { numRuns: 100 },
  );
});

test('U+0000 is refused as in any text', async () => {
  await expect(database.pool.query('SELECT $1::text[]', [textArray(['a\u0000b'])])).rejects.toMatchObject({
    code: '22021',
  });
});
