import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { runQuery } from '#pkg/database/index';
import type { KeyRing } from './key-ring.ts';
import { SecretBox } from './secret-box.ts';
import { SecretError } from './secret-error.ts';
import { selectSealedByOthers, type SealedTable } from './sealed-tables.ts';

/** Numbers of rows. */
export interface Resealed {
  accessKeys: number;
  privateTokens: number;
  /** Unknown key, wrong purpose or changed bytes. */
  unreadable: number;
}

interface Batch {
  sealed: number;
  unreadable: number;
  /** Id of the last processed row; undefined at the end of the table. */
  last: string | undefined;
}

interface Row {
  id: string;
  secret: Buffer;
}

/**
 * Reseals the next rows that are not sealed with the primary key, in one transaction on this connection; `after` is ''
 * for the first batch.
 */
export async function resealBatch(
  client: PoolClient,
  ring: KeyRing,
  { table, after, batchSize }: { table: SealedTable; after: string; batchSize: number },
): Promise<Batch> {
  await client.query('BEGIN');
  const rowId = sql.ref<string>(table.id);
  const next = selectSealedByOthers(table, ring.primary.id)
    .select([rowId.as('id'), 'secret'])
    .$if(after !== '', (rest) => rest.where(rowId, '>', after))
    .orderBy(rowId)
    .limit(batchSize)
    // Locked: a concurrent replacement of a secret runs before or after.
    .forUpdate();
  const { rows } = await runQuery(client, next);
  const box = new SecretBox(ring);
  const opened = rows.flatMap(({ id, secret }) => {
    const text = open(box, secret, table.purposeOf(id));
    return text === undefined ? [] : [{ id, text }];
  });
  await update(
    client,
    table,
    opened.map(({ id, text }) => ({
      id,
      secret: box.seal(text, table.purposeOf(id)),
      lookup: box.lookup(text, table.lookupPurpose ?? ''),
    })),
  );
  await client.query('COMMIT');
  return {
    sealed: opened.length,
    unreadable: rows.length - opened.length,
    last: rows.length < batchSize ? undefined : rows.at(-1)?.id,
  };
}

async function update(
  client: PoolClient,
  table: SealedTable,
  rows: readonly (Row & { lookup: Buffer })[],
): Promise<void> {
  const lookup = sql.raw(table.lookupPurpose === undefined ? '' : ', lookup = n.lookup');
  await runQuery(
    client,
    sql`UPDATE ${sql.table(table.name)} t SET secret = n.secret${lookup}
      FROM unnest(${rows.map(({ id }) => id)}::uuid[], ${rows.map(({ secret }) => secret)}::bytea[], ${rows.map((row) => row.lookup)}::bytea[]) AS n (id, secret, lookup)
      WHERE t.${sql.ref(table.id)} = n.id`,
  );
}

function open(box: SecretBox, secret: Buffer, purpose: string): string | undefined {
  try {
    return box.open(secret, purpose);
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}
