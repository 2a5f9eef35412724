import { createHash } from 'node:crypto';
import { PreparedStatement, type Placeholders } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { SignatureClaim } from './signature-claim.ts';

/**
 * How many that have expired each new one takes away: more than come, so that they become few, and no task must run for
 * it.
 */
const purgedAtOnce = 10;
/** While no clock tells when a signature is too old. */
const unboundedMs = 24 * 60 * 60 * 1000;

const insertUse = new PreparedStatement('signature-use', ($: Placeholders<{ hash: Buffer; expires: Date }>) =>
  accessQuery
    .with('old', (db) =>
      db
        .selectFrom('access.signature_uses')
        .select('hash')
        .where('expires', '<', currentTime)
        .orderBy('expires')
        .limit(purgedAtOnce)
        .forUpdate()
        .skipLocked(),
    )
    .with('purged', (db) =>
      db.deleteFrom('access.signature_uses as s').using('old').whereRef('s.hash', '=', 'old.hash'),
    )
    .insertInto('access.signature_uses')
    .values({ hash: $.hash, expires: $.expires })
    .onConflict((conflict) => conflict.doNothing())
    .returning('hash'),
);

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
    const hash = createHash('sha256').update(`${keyId}\n`).update(signature).digest();
    const { rows } = await insertUse.run(this.#database.pool, { hash, expires });
    return rows.length > 0;
  }
}
