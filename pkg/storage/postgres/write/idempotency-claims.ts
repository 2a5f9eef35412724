import type { Pool } from 'pg';
import type { ReadRoom } from '../../read-room.ts';
import { StorageError } from '../../storage-error.ts';
import { changeTypes } from './operation.ts';
import type { IdempotencyClaim, RememberedWrite, StoredObject } from '../../store.ts';

interface ClaimRow {
  body_hash: string;
  rev: string;
  /** Null if the request changed nothing, or if its row of the log is gone. */
  type: 'C' | 'U' | 'D' | null;
  namespace: string;
  name: string;
  body: string | null;
  size: number | null;
  fingerprint: string;
}

/** Bodies up to this size come at once; a larger one when there is room for it. */
const inlineBytes = 64 * 1024;
/** Of any size. */
const mostBytes = 2 ** 31 - 1;

/**
 * Reads what a claim led to: from the log row that compaction spares for it, or from the claim where nothing was
 * changed.
 */
export async function recallWrite(
  pool: Pool,
  claim: IdempotencyClaim,
  room?: ReadRoom,
): Promise<RememberedWrite | undefined> {
  let row = await readClaim(pool, claim, room === undefined ? mostBytes : inlineBytes);
  if (row === undefined) return undefined;
  if (row.body === null && row.size !== null) {
    await room?.admit(row.size);
    row = await readClaim(pool, claim, mostBytes);
    if (row === undefined) return undefined;
  }
  if (row.body === null) throw new StorageError('Compacted', 'the outcome of this idempotency key is no longer kept');
  const object = {
    namespace: row.namespace,
    name: row.name,
    revision: Number(row.rev),
    body: row.body,
    fingerprint: row.fingerprint,
  };
  return { bodyHash: row.body_hash, type: changeTypes[row.type ?? 'U'], object };
}

/** A larger body is left out. */
async function readClaim(pool: Pool, claim: IdempotencyClaim, maxBytes: number): Promise<ClaimRow | undefined> {
  const { rows } = await pool.query<ClaimRow>({
    name: 'recall',
    text: `SELECT k.body_hash, k.rev, c.type, coalesce(k.namespace, c.namespace) AS namespace, coalesce(k.name, c.name) AS name,
        octet_length(coalesce(k.body, c.new)) AS size, CASE WHEN octet_length(coalesce(k.body, c.new)) <= $5 THEN coalesce(k.body, c.new) END AS body, coalesce(k.fingerprint, c.new_fingerprint) AS fingerprint
      FROM platform.idempotency_keys k LEFT JOIN platform.change_log c ON c.rev = k.rev AND k.body IS NULL
      WHERE k.username = $1 AND k.method = $2 AND k.path = $3 AND k.key = $4`,
    values: [...keyOf(claim), maxBytes],
  });
  return rows[0];
}

/** StorageError ClaimTaken if it has been used. */
export async function rememberUnchanged(pool: Pool, claim: IdempotencyClaim, object: StoredObject): Promise<void> {
  const { rowCount } = await pool.query(
    `INSERT INTO platform.idempotency_keys (username, method, path, key, body_hash, rev, namespace, name, body, fingerprint)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
    [...keyOf(claim), claim.bodyHash, object.revision, object.namespace, object.name, object.body, object.fingerprint],
  );
  if (rowCount === 0) throw claimTaken();
}

/** The positions of the claims that somebody has used. */
export async function takenClaims(pool: Pool, claims: readonly (IdempotencyClaim | undefined)[]): Promise<Set<number>> {
  const asked = claims.flatMap((claim, position) => (claim === undefined ? [] : [{ position, values: keyOf(claim) }]));
  const { rows } = await pool.query<{ position: number }>({
    name: 'taken-claims',
    text: `SELECT c.position FROM unnest($1::int[], $2::text[], $3::text[], $4::text[], $5::text[]) AS c(position, username, method, path, key)
      JOIN platform.idempotency_keys k USING (username, method, path, key)`,
    values: [asked.map(({ position }) => position), ...[0, 1, 2, 3].map((i) => asked.map(({ values }) => values[i]))],
  });
  return new Set(rows.map(({ position }) => position));
}

export function claimTaken(): StorageError {
  return new StorageError('ClaimTaken', 'the idempotency key has been used');
}

function keyOf({ user, method, path, key }: IdempotencyClaim): string[] {
  return [user, method, path, key];
}
