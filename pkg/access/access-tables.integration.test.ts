import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { rootOrgId } from './accesstest/add-user.ts';
import { startAccessTest, type AccessTest } from './accesstest/start-access-test.ts';
import { accessColumns, type ColumnValues } from './access-tables.ts';

let server: AccessTest;
beforeAll(async () => {
  server = await startAccessTest({ operations: () => [] });
});
afterAll(() => server.stop());

test('the tables in code are those of the migrated schema', async () => {
  const { rows } = await server.access.pool.query<{ tables: unknown }>(
    `SELECT json_object_agg(name, columns) AS tables FROM (
        SELECT c.oid::regclass::text AS name, json_object_agg(a.attname, replace(a.atttypid::regtype::text, 'timestamp with time zone', 'timestamptz') ||
            CASE WHEN c.relkind = 'v' OR a.attidentity = 'a' OR a.attgenerated <> '' THEN ' generated'
              WHEN NOT a.attnotnull THEN ' null' WHEN a.atthasdef THEN ' default' ELSE '' END) AS columns
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relnamespace = 'access'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
          AND c.relname <> 'migration' AND a.attnum > 0 AND NOT a.attisdropped
        GROUP BY c.oid) found`,
  );
  expect(rows[0]!.tables).toEqual(accessColumns);
});

test('pg returns values of the types that the columns declare', async () => {
  const { rows } = await server.access.pool.query(
    `SELECT 1::bigint AS "bigint", true AS "boolean", '\\x61'::bytea AS bytea, 1::integer AS "integer", 'a' AS text, ARRAY['a'] AS "text[]",
      '2026-01-01Z'::timestamptz AS timestamptz, '${rootOrgId}'::uuid AS uuid`,
  );
  const values: ColumnValues = {
    bigint: '1',
    boolean: true,
    bytea: Buffer.from('a'),
    integer: 1,
    text: 'a',
    'text[]': ['a'],
    timestamptz: new Date('2026-01-01Z'),
    uuid: rootOrgId,
  };
  expect(rows).toEqual([values]);
});
