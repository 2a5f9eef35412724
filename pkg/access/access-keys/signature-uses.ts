import { createHash } from 'node:crypto';
import { PreparedStatement, type Placeholders } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, currentTime } from '../access-tables.ts';
import type { SignatureClaim } from './signature-claim.ts';

/** Expired rows that each new one deletes: more than one, so that their number falls without a background task. */
const purgedAtOnce = 10;
/** Used if signatures have no maximum age. */
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

/** Stores the signatures that may be used only once, for all replicas. */
export class SignatureUses {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** False if it was used before. Stored until it is too old to be accepted; with `maxSkewMs` 0 for a day. */
  async use(
    { keyId, signature, times }: SignatureClaim,
    { now, maxSkewMs }: { now: number; maxSkewMs: number },
  ): Promise<boolean> {
    // Twice the window, as the clocks of replicas and the database differ a little.
    const expires = new Date(maxSkewMs === 0 ? now + unboundedMs : Math.max(...times) + 2 * maxSkewMs);
    const hash = createHash('sha256').update(`${keyId}\n`).update(signature).digest();
    const { rows } = await insertUse.run(this.#database.pool, { hash, expires });
    return rows.length > 0;
  }
}
