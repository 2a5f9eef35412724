import type { PoolClient } from 'pg';
import type { KeyRing } from './key-ring.ts';
import { SecretBox } from './secret-box.ts';
import { SecretError } from './secret-error.ts';
import { sealedByColumn, type SealedTable } from './sealed-tables.ts';

/** Counts of rows. */
export interface Resealed {
  accessKeys: number;
  privateTokens: number;
  /** Neither key nor purpose fits, or the bytes were changed. */
  unreadable: number;
}

interface Batch {
  sealed: number;
  unreadable: number;
  /** Id of the last row that was looked at; undefined where it was the last of the table. */
  last: string | undefined;
}

interface Row {
  id: string;
  secret: Buffer;
}

/**
 * Seals the next rows that another key than the primary one has sealed, in one transaction on this connection; `after`
 * is '' at first.
 */
export async function resealBatch(
  client: PoolClient,
  ring: KeyRing,
  { table, after, batchSize }: { table: SealedTable; after: string; batchSize: number },
): Promise<Batch> {
  await client.query('BEGIN');
  // Locked: whoever replaces one of them meanwhile comes before or after.
  const { rows } = await client.query<Row>(
    `SELECT ${table.id} AS id, secret FROM access.${table.name} WHERE ${sealedByColumn} <> $1 AND ($2 = '' OR ${table.id} > NULLIF($2, '')::uuid) ORDER BY ${table.id} LIMIT $3 FOR UPDATE`,
    [ring.primary.id, after, batchSize],
  );
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
  const lookup = table.lookupPurpose === undefined ? '' : ', lookup = n.lookup';
  await client.query(
    `UPDATE access.${table.name} t SET secret = n.secret${lookup} FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS n (id, secret, lookup) WHERE t.${table.id} = n.id`,
    [rows.map(({ id }) => id), rows.map(({ secret }) => secret), rows.map((row) => row.lookup)],
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
