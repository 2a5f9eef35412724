import type { Pool } from 'pg';
import { StorageError } from '../storage-error.ts';
import type { IdempotencyClaim, RememberedWrite } from '../store.ts';

interface ClaimRow {
  body_hash: string;
  rev: string | null;
  type: 'C' | 'U' | 'D';
  namespace: string;
  name: string;
  new: string;
  new_fingerprint: string;
}

const types = { C: 'create', U: 'update', D: 'delete' } as const;

/** Reads what a claim led to, from the log row that compaction spares for it. */
export async function recallWrite(pool: Pool, claim: IdempotencyClaim): Promise<RememberedWrite | undefined> {
  const { rows } = await pool.query<ClaimRow>({
    name: 'recall',
    text: `SELECT k.body_hash, c.rev, c.type, c.namespace, c.name, c.new, c.new_fingerprint
      FROM platform.idempotency_keys k LEFT JOIN platform.change_log c USING (rev)
      WHERE k.username = $1 AND k.method = $2 AND k.path = $3 AND k.key = $4`,
    values: [claim.user, claim.method, claim.path, claim.key],
  });
  const row = rows[0];
  if (row === undefined) return undefined;
  if (row.rev === null) throw new StorageError('Compacted', 'the outcome of this idempotency key is no longer kept');
  const object = { namespace: row.namespace, name: row.name, revision: Number(row.rev), body: row.new, fingerprint: row.new_fingerprint };
  return { bodyHash: row.body_hash, type: types[row.type], object };
}
