import type { PostgresProcess } from '../../test/system/harness/process/postgres-process.ts';

/** Bytes of a model's table with its indexes. */
export interface TableSizes {
  rows: number;
  /** The rows, without texts stored out of line. */
  heap: number;
  /** Texts stored out of line, with their index. */
  toast: number;
  indexes: { columns: string; bytes: number }[];
}

interface ModelRow {
  id: number;
  columns: { name: string; index: { name: string } }[];
}

/** The table of a model's objects: `m_<id>` in the schema `platform`. */
export async function tableOf(database: PostgresProcess, plural: string): Promise<ModelRow & { table: string }> {
  const [row] = await database.query(`SELECT id, columns FROM platform.models WHERE resource = '${plural}'`);
  if (row === undefined) throw new Error(`there is no model ${plural}`);
  const { id, columns } = row as unknown as ModelRow;
  return { id, columns, table: `platform.m_${id}` };
}

export async function tableSizes(database: PostgresProcess, plural: string): Promise<TableSizes> {
  const { table, columns } = await tableOf(database, plural);
  const [sizes] = await database.query(
    `SELECT count(*) AS rows, pg_relation_size('${table}') AS heap,
       coalesce((SELECT pg_total_relation_size(reltoastrelid) FROM pg_class WHERE oid = '${table}'::regclass AND reltoastrelid <> 0), 0) AS toast FROM ${table}`,
  );
  const indexes = await database.query(
    `SELECT pg_get_indexdef(indexrelid) AS text, pg_relation_size(indexrelid) AS bytes FROM pg_index WHERE indrelid = '${table}'::regclass ORDER BY indexrelid`,
  );
  return {
    rows: Number(sizes!['rows']),
    heap: Number(sizes!['heap']),
    toast: Number(sizes!['toast']),
    indexes: indexes.map((index) => ({
      columns: named(String(index['text']), columns),
      bytes: Number(index['bytes']),
    })),
  };
}

/** `gin (labels)`, `unique btree (spec.slug)`: columns of declared indexes have the names of the model. */
function named(definition: string, columns: ModelRow['columns']): string {
  const what = /USING (\w+ \(.*?\))/.exec(definition)?.[1] ?? definition;
  const known = columns.reduce(
    (text, { name, index }) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), index.name),
    what.replaceAll(' NULLS FIRST', ''),
  );
  return definition.startsWith('CREATE UNIQUE') ? `unique ${known}` : known;
}

/** Bytes of WAL that PostgreSQL wrote during `work`, for all clients. */
export async function walBytes(database: PostgresProcess, work: () => Promise<unknown>): Promise<number> {
  const position = async (): Promise<string> =>
    String((await database.query('SELECT pg_current_wal_insert_lsn() AS at'))[0]!['at']);
  const before = await position();
  await work();
  const [row] = await database.query(`SELECT pg_wal_lsn_diff('${await position()}', '${before}') AS bytes`);
  return Number(row!['bytes']);
}

export async function changeLogBytes(database: PostgresProcess): Promise<number> {
  const [row] = await database.query("SELECT pg_total_relation_size('platform.change_log') AS bytes");
  return Number(row!['bytes']);
}
