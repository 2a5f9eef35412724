import type { ClientBase } from 'pg';
import type { BackedUpSchema } from './backed-up-schema.ts';
import { BackupError } from './backup-error.ts';
import { checkShape, type TableShape } from './table-shape.ts';

/** A table whose rows a backup holds. */
export interface BackedUpTable {
  readonly schema: string;
  readonly table: string;
  /** In the order of the values in each row, without generated columns. */
  readonly columns: readonly string[];
  /** Set for runtime tables only: migrations create all others. */
  readonly shape?: TableShape;
}

/** Estimated number of rows. */
export interface TableSize {
  readonly rows: number;
}

interface TableRow {
  schema: string;
  table: string;
  columns: string[];
  rows: number;
}

/**
 * Tables to back up, ordered by name. It reads only the catalogues and waits for no table, because `LOCK TABLE` uses
 * this list.
 */
export async function readTables(
  client: ClientBase,
  schemas: readonly BackedUpSchema[],
): Promise<(BackedUpTable & TableSize)[]> {
  const tables: (BackedUpTable & TableSize)[] = [];
  for (const schema of schemas) {
    const runtime =
      schema.runtimeTables === undefined
        ? []
        : (await client.query<{ name: string }>(schema.runtimeTables.select)).rows.map(({ name }) => name);
    for (const table of await selectTables(client, schema.name)) {
      if (runtime.includes(table.table)) tables.push(table);
      // A table of a deleted model, about to be dropped.
      else if (schema.runtimeTables?.pattern.test(table.table) === true) continue;
      else if (table.table !== 'migration' && !schema.excludedTables.includes(table.table)) tables.push(table);
    }
  }
  return tables;
}

async function selectTables(client: ClientBase, schema: string): Promise<TableRow[]> {
  const { rows } = await client.query<TableRow>(
    `SELECT $1::text AS schema, c.relname AS table, greatest(c.reltuples, 0)::float8 AS rows,
       (SELECT coalesce(json_agg(a.attname ORDER BY a.attnum), '[]') FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
     FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p' ORDER BY c.relname COLLATE "C"`,
    [schema],
  );
  return rows;
}

/** The tables that migrations have created; call it in the same transaction. */
export async function migratedTables(
  client: ClientBase,
  { name, excludedTables }: BackedUpSchema,
): Promise<Map<string, readonly string[]>> {
  const tables = await selectTables(client, name);
  return new Map(
    tables
      .filter(({ table }) => table !== 'migration' && !excludedTables.includes(table))
      .map(({ table, columns }) => [table, columns]),
  );
}

interface ShapeRow {
  columns: { name: string; type: string; isNotNull: boolean; collation: string | null; default: string | null }[];
  indexes: IndexRow[];
  others: string[];
  triggers: string[];
  options: string[] | null;
}

interface IndexRow {
  name: string;
  isUnique: boolean;
  isPrimary: boolean;
  /** Whether a shape can describe it completely. */
  isPlain: boolean;
  method: string;
  options: string[] | null;
  columns: { name: string | null; flags: number }[];
}

/**
 * The definition of a runtime table from the catalogue. Omits an index that is not built yet: the server builds it.
 * Throws BackupError for anything that a shape cannot describe.
 */
export async function readShape(
  client: ClientBase,
  { schema, table }: BackedUpTable,
  triggers: readonly string[],
): Promise<TableShape> {
  const { rows } = await client.query<ShapeRow>({
    name: 'shape of a table',
    text: shapeText,
    values: [`"${schema}"."${table}"`],
  });
  const row = rows[0]!;
  const unknown = [
    ...row.others,
    ...row.indexes.filter(({ isPlain }) => !isPlain).map(({ name }) => name),
    ...row.columns.filter(({ default: value }) => value !== null && !emptyArray.test(value)).map(({ name }) => name),
  ];
  if (unknown.length > 0)
    throw new BackupError(
      `Table ${schema}.${table} has something that this program did not create and cannot back up: ${unknown.join(', ')}.`,
    );
  const key = row.indexes.find(({ isPrimary }) => isPrimary);
  const fillfactor = optionOf(row.options, 'fillfactor');
  const shape = {
    columns: row.columns.map(({ name, type, isNotNull, collation, default: value }) => ({
      name,
      type,
      isNotNull,
      isBytewise: collation === 'C',
      isEmptyByDefault: value !== null,
    })),
    ...(key === undefined ? {} : { primaryKey: { name: key.name, columns: key.columns.map(({ name }) => name) } }),
    indexes: row.indexes.filter(({ isPrimary }) => !isPrimary).map(indexShape),
    triggers: row.triggers,
    ...(fillfactor === undefined ? {} : { fillfactor: Number(fillfactor) }),
  };
  return checkShape(shape, `${schema}.${table}`, triggers);
}

const emptyArray = /^'\{\}'::[a-z ]+\[\]$/;

function indexShape({ name, isUnique, method, options, columns }: IndexRow): object {
  const fastupdate = optionOf(options, 'fastupdate');
  return {
    name,
    isUnique,
    method,
    columns: columns.map((column) => ({
      name: column.name,
      isDescending: (column.flags & 1) !== 0,
      isNullsFirst: (column.flags & 2) !== 0,
    })),
    ...(fastupdate === undefined ? {} : { fastupdate: fastupdate === 'on' || fastupdate === 'true' }),
  };
}

function optionOf(options: readonly string[] | null, name: string): string | undefined {
  return options?.find((option) => option.startsWith(`${name}=`))?.slice(name.length + 1);
}

const shapeText = `
  SELECT
    (SELECT json_agg(json_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'isNotNull', a.attnotnull,
        'collation', (SELECT l.collname FROM pg_collation l WHERE l.oid = a.attcollation AND l.collname <> 'default'),
        'default', (SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum)) ORDER BY a.attnum)
      FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) AS columns,
    (SELECT coalesce(json_agg(json_build_object('name', ic.relname, 'isUnique', i.indisunique, 'isPrimary', i.indisprimary, 'method', am.amname, 'options', ic.reloptions,
        'isPlain', i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts AND NOT i.indnullsnotdistinct
          AND NOT EXISTS (SELECT FROM unnest(i.indclass::oid[]) k JOIN pg_opclass o ON o.oid = k WHERE NOT o.opcdefault),
        'columns', (SELECT json_agg(json_build_object('flags', i.indoption[k - 1], 'name', a.attname) ORDER BY k)
          FROM generate_series(1, i.indnkeyatts) k LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[k - 1])) ORDER BY ic.relname COLLATE "C"), '[]')
      FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid JOIN pg_am am ON am.oid = ic.relam WHERE i.indrelid = c.oid AND i.indisvalid) AS indexes,
    (SELECT coalesce(json_agg(o.conname), '[]') FROM pg_constraint o WHERE o.conrelid = c.oid AND o.contype NOT IN ('p', 'n')) AS others,
    (SELECT coalesce(json_agg(t.tgname ORDER BY t.tgname), '[]') FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS triggers,
    c.reloptions AS options
  FROM pg_class c WHERE c.oid = $1::regclass`;
