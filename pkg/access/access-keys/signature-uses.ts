import { createHash } from 'node:crypto';
import type { AccessDatabase } from '../access-database.ts';
import type { SignatureClaim } from './signature-claim.ts';

/**
 * How many that have expired each new one takes away: more than come, so that they become few, and no task must run for
 * it.
 */
const purgedAtOnce = 10;
/** While no clock tells when a signature is too old. */
const unboundedMs = 24 * 60 * 60 * 1000;

/** Remembers, for all replicas, signatures that serve one request only. */
export class SignatureUses {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /**
   * False where it was used before. It is remembered until it is too old to be accepted; with `maxSkewMs` 0 for a day.
   */
  async use(
    { keyId, signature, times }: SignatureClaim,
    { now, maxSkewMs }: { now: number; maxSkewMs: number },
  ): Promise<boolean> {
    // Twice the window: the clocks of replicas and of the database differ a little.
    const expires = new Date(maxSkewMs === 0 ? now + unboundedMs : Math.max(...times) + 2 * maxSkewMs);
    const { rows } = await this.#database.pool.query({
      name: 'signature-use',
      text: `WITH old AS (SELECT hash FROM access.signature_uses WHERE expires < now() ORDER BY expires LIMIT $3 FOR UPDATE SKIP LOCKED),
          purged AS (DELETE FROM access.signature_uses s USING old WHERE s.hash = old.hash)
        INSERT INTO access.signature_uses (hash, expires) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1`,
      values: [createHash('sha256').update(`${keyId}\n`).update(signature).digest(), expires, purgedAtOnce],
    });
    return rows.length > 0;
  }
}
