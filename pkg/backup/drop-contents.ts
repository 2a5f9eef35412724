import type { ClientBase } from 'pg';
import { BackupError } from './backup-error.ts';

/** What to drop, in dependency order: objects of a later kind do not depend on an earlier one. */
const kinds = [
  { drop: 'VIEW', select: relations('v') },
  { drop: 'MATERIALIZED VIEW', select: relations('m') },
  { drop: 'TABLE', select: relations('r', 'p') },
  { drop: 'FOREIGN TABLE', select: relations('f') },
  { drop: 'SEQUENCE', select: relations('S') },
  {
    drop: 'ROUTINE',
    select: `SELECT oid::regprocedure::text AS name FROM pg_proc WHERE pronamespace = ANY ($1::regnamespace[]) AND ${isOfNoExtension('pg_proc')}`,
  },
] as const;

/**
 * Drops the contents of the schemas, but not the schemas: an operator may have created them, with grants, for a user
 * without the right to create schemas. Names are resolved by a search path of `pg_catalog` alone. Throws BackupError if
 * something outside would be dropped as well.
 */
export async function dropContents(client: ClientBase, schemas: readonly string[]): Promise<void> {
  const { rows: published } = await client.query<{ table: string; publication: string }>(
    `SELECT r.prrelid::regclass::text AS table, quote_ident(p.pubname) AS publication FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid JOIN pg_class c ON c.oid = r.prrelid
     WHERE c.relnamespace = ANY ($1::regnamespace[]) ORDER BY 1 LIMIT 1`,
    [schemas],
  );
  if (published[0] !== undefined)
    throw new BackupError(
      `--replace would also change something that svc did not create: publication ${published[0].publication} names table ${published[0].table}; remove that first.`,
    );
  for (const { drop, select } of kinds) {
    const { rows } = await client.query<{ name: string }>(select, [schemas]);
    if (rows.length > 0) await dropTogether(client, `DROP ${drop} ${rows.map(({ name }) => name).join(', ')}`);
  }
}

/**
 * Objects of one statement may depend on each other; if another object depends on them, PostgreSQL refuses and names
 * it.
 */
async function dropTogether(client: ClientBase, text: string): Promise<void> {
  try {
    await client.query(text);
  } catch (error) {
    const { code, detail } = error as { code?: string; detail?: string };
    if (code !== '2BP01') throw error;
    throw new BackupError(
      `--replace would also change something that svc did not create: ${detail?.split('\n')[0] ?? 'PostgreSQL does not say what'}; remove that first.`,
      { cause: error },
    );
  }
}

function relations(...relkinds: readonly string[]): string {
  return `SELECT oid::regclass::text AS name FROM pg_class WHERE relnamespace = ANY ($1::regnamespace[]) AND relkind IN (${relkinds.map((kind) => `'${kind}'`).join(', ')}) AND NOT relispartition AND ${isOfNoExtension('pg_class')}`;
}

function isOfNoExtension(catalogue: string): string {
  return `NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = '${catalogue}'::regclass AND d.objid = ${catalogue}.oid AND d.deptype = 'e')`;
}
