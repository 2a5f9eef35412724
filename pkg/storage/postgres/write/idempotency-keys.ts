import type { Pool } from 'pg';
import type { ReadBudget } from '../../read-budget.ts';
import { StorageError } from '../../storage-error.ts';
import { changeTypes } from './batch-operation.ts';
import type { IdempotencyKey, RememberedWrite, StoredObject } from '../../store.ts';

interface KeyRow {
  body_hash: string;
  rev: string;
  /** Null if the request changed nothing, or if its row of the log is gone. */
  type: 'C' | 'U' | 'D' | null;
  namespace: string;
  name: string;
  body: string | null;
  managed: string | null;
  /** Bytes of both. */
  size: number | null;
  fingerprint: string;
}

/** Bodies up to this size are read at once; a larger one once memory is reserved. */
const inlineBytes = 64 * 1024;
/** Limit for bodies of any size. */
const unlimitedBytes = 2 ** 31 - 1;

/**
 * Reads the outcome of an idempotency key: from the log row that compaction keeps for it, or from the key's own row if
 * nothing was changed.
 */
export async function readRememberedWrite(
  pool: Pool,
  idempotencyKey: IdempotencyKey,
  readBudget?: ReadBudget,
): Promise<RememberedWrite | undefined> {
  let row = await readKeyRow(pool, idempotencyKey, readBudget === undefined ? unlimitedBytes : inlineBytes);
  if (row === undefined) return undefined;
  if (row.body === null && row.size !== null) {
    await readBudget?.admit(row.size);
    row = await readKeyRow(pool, idempotencyKey, unlimitedBytes);
    if (row === undefined) return undefined;
  }
  if (row.body === null) throw new StorageError('Compacted', 'the outcome of this idempotency key is no longer kept');
  const object = {
    namespace: row.namespace,
    name: row.name,
    revision: Number(row.rev),
    body: row.body,
    managed: row.managed ?? '',
    fingerprint: row.fingerprint,
  };
  return { bodyHash: row.body_hash, type: changeTypes[row.type ?? 'U'], object };
}

/** Omits a body larger than `maxBytes`. */
async function readKeyRow(pool: Pool, idempotencyKey: IdempotencyKey, maxBytes: number): Promise<KeyRow | undefined> {
  const { rows } = await pool.query<KeyRow>({
    name: 'recall',
    text: `SELECT k.body_hash, k.rev, c.type, coalesce(k.namespace, c.namespace) AS namespace, coalesce(k.name, c.name) AS name,
        s.size, CASE WHEN s.size <= $5 THEN coalesce(k.body, c.new) END AS body, CASE WHEN s.size <= $5 THEN coalesce(k.managed, c.new_managed) END AS managed, coalesce(k.fingerprint, c.new_fingerprint) AS fingerprint
      FROM platform.idempotency_keys k LEFT JOIN platform.change_log c ON c.rev = k.rev AND k.body IS NULL
        CROSS JOIN LATERAL (SELECT octet_length(coalesce(k.body, c.new)) + coalesce(octet_length(coalesce(k.managed, c.new_managed)), 0) AS size) s
      WHERE k.username = $1 AND k.method = $2 AND k.path = $3 AND k.key = $4`,
    values: [...keyOf(idempotencyKey), maxBytes],
  });
  return rows[0];
}

/** StorageError IdempotencyKeyUsed if it has been used. */
export async function rememberUnchanged(
  pool: Pool,
  idempotencyKey: IdempotencyKey,
  object: StoredObject,
): Promise<void> {
  const { rowCount } = await pool.query(
    `INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev, namespace, name, body, managed, fingerprint)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
    [
      ...keyOf(idempotencyKey),
      idempotencyKey.bodyHash,
      object.revision,
      object.namespace,
      object.name,
      object.body,
      object.managed ?? '',
      object.fingerprint,
    ],
  );
  if (rowCount === 0) throw newIdempotencyKeyUsed();
}

/** The positions of the used idempotency keys. */
export async function usedIdempotencyKeys(
  pool: Pool,
  idempotencyKeys: readonly (IdempotencyKey | undefined)[],
): Promise<Set<number>> {
  const asked = idempotencyKeys.flatMap((idempotencyKey, position) =>
    idempotencyKey === undefined ? [] : [{ position, values: keyOf(idempotencyKey) }],
  );
  const { rows } = await pool.query<{ position: number }>({
    name: 'used-idempotency-keys',
    text: `SELECT c.position FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[]) AS c(position, username, method, path, key)
      JOIN platform.idempotency_keys k USING (username, method, path, key)`,
    values: [asked.map(({ position }) => position), ...[0, 1, 2, 3].map((i) => asked.map(({ values }) => values[i]))],
  });
  return new Set(rows.map(({ position }) => position));
}

export function newIdempotencyKeyUsed(): StorageError {
  return new StorageError('IdempotencyKeyUsed', 'the idempotency key has been used');
}

function keyOf({ user, method, path, key }: IdempotencyKey): string[] {
  return [user, method, path, key];
}
