import pg from 'pg';
import { findEmbedded } from '#pkg/database/index';

/**
 * Columns, indexes, constraints and functions of both schemas, one line each; without the tables of models, which
 * differ.
 */
export async function shapeOf(dataDir: string): Promise<string[]> {
  const connection = (await findEmbedded(dataDir))?.connection;
  if (connection === undefined) throw new Error(`no PostgreSQL runs in ${dataDir}`);
  const client = new pg.Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ line: string }>(shapeSql);
    // The number of a model's table does not matter.
    return rows.map(({ line }) => line.replaceAll(/\bm_\d+/g, 'm_N'));
  } finally {
    await client.end();
  }
}

export function shapeDifferences(fresh: readonly string[], upgraded: readonly string[]): string[] {
  const missing = fresh.filter((line) => !upgraded.includes(line));
  const left = upgraded.filter((line) => !fresh.includes(line));
  return [
    ...missing.map((line) => `an upgraded database lacks ${line}`),
    ...left.map((line) => `a fresh database has no ${line}`),
  ];
}

// The order of columns depends on history and does not matter.
const shapeSql = `
  WITH tables AS (SELECT c.oid, n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('platform', 'access') AND c.relkind IN ('r', 'S') AND c.relname !~ '^m_\\d')
  SELECT name || '.' || attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' not null' ELSE '' END || coalesce(' default ' || pg_get_expr(adbin, adrelid), '') AS line
    FROM tables JOIN pg_attribute a ON a.attrelid = tables.oid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum WHERE attnum > 0 AND NOT attisdropped
  UNION ALL SELECT pg_get_indexdef(indexrelid) FROM tables JOIN pg_index ON indrelid = tables.oid
  UNION ALL SELECT name || ' ' || conname || ' ' || pg_get_constraintdef(c.oid) FROM tables JOIN pg_constraint c ON conrelid = tables.oid AND contype <> 'n'
  UNION ALL SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname IN ('platform', 'access') AND p.proname !~ '\\d'
  ORDER BY 1`;
