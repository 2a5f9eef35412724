import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { runQuery } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { registerKey } from './key-checks.ts';
import type { KeyRing } from './key-ring.ts';
import { resealBatch, type Resealed } from './reseal.ts';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';
import { sealedTables, selectSealedByOthers } from './sealed-tables.ts';

const LOCK = 'svc rotate-keys';
/** Of attempts to drop a key that somebody keeps sealing with. */
const MOST_ROUNDS = 10;
const LOCK_WAIT = '5s';
const FOREIGN_KEY_VIOLATION = '23503';
const LOCK_NOT_AVAILABLE = '55P03';

export interface RotationOptions {
  database: AccessDatabase;
  ring: KeyRing;
  /**
   * Make no new key; let the database forget all but the first, once nothing is sealed with them, and remove them from
   * the file where it can be replaced.
   */
  dropOld?: boolean;
  /** Rows in one transaction; 200 by default. */
  batchSize?: number;
}

/** What has just been made durable. */
export type RotationStep = 'key registered' | 'key written' | 'batch sealed' | 'keys forgotten' | 'keys dropped';

export interface RotationResult extends Resealed {
  /** Was a new key made? Not with keys that an option gives, nor where the file held several. */
  isNewKey: boolean;
  /** Keys that were removed. */
  dropped: number;
  /** Keys that are left behind the first. */
  old: number;
  /**
   * Where the old keys stay in a file that cannot be replaced, though nothing needs them: the code of the error, as
   * EROFS.
   */
  obstacle?: string;
}

/**
 * Seals every secret with the primary key: a new one, where the keys are in a file and are one. It may end between any
 * two steps, and be run again; servers that use the same file go on meanwhile. What cannot be opened stays as it is, is
 * counted, and its key is not dropped. Throws SecretKeyError while another one runs on this database, and, with nothing
 * changed, for a new key that the file cannot take.
 */
export async function* rotateKeys({
  database,
  ring,
  dropOld = false,
  batchSize = 200,
}: RotationOptions): AsyncGenerator<RotationStep, RotationResult> {
  const client = await database.pool.connect();
  try {
    await lock(client);
    ring.refresh();
    // Where there are several, a rotation has begun already: by this command, or by an operator who gives the same keys
    // to many machines.
    const isNewKey = !dropOld && ring.file !== undefined && ring.keys.length === 1;
    // Before the database hears of a key that would be nowhere else, or forgets one that would stay.
    const obstacle = isNewKey || dropOld ? ring.file?.obstacle(ring.keys) : undefined;
    if (isNewKey && obstacle !== undefined) throw new SecretKeyError(fixedFile(ring, obstacle));
    if (isNewKey) yield* addPrimary(client, ring);
    const sealed = yield* resealAll(client, ring, batchSize);
    const before = ring.keys.length;
    if (dropOld) yield* dropOthers(client, ring, { batchSize, sealed, isFixed: obstacle !== undefined });
    return {
      ...sealed,
      isNewKey,
      dropped: before - ring.keys.length,
      old: ring.keys.length - 1,
      ...(obstacle === undefined ? {} : { obstacle }),
    };
  } finally {
    // Closed, which frees the lock.
    client.release(true);
  }
}

/** Waits a moment: of one that was killed just now the database may not know yet. */
async function lock(client: PoolClient): Promise<void> {
  await runQuery(client, sql`SELECT set_config('lock_timeout', ${LOCK_WAIT}, false)`);
  try {
    await runQuery(client, sql`SELECT pg_advisory_lock(hashtextextended(${LOCK}, 0))`);
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error;
    throw new SecretKeyError('Another svc rotate-keys is at work on this database; wait for its end.', {
      cause: error,
    });
  }
  await client.query('RESET lock_timeout');
}

/** Registered first: from the moment it is in the file, servers seal with it. */
async function* addPrimary(client: PoolClient, ring: KeyRing): AsyncGenerator<RotationStep, void> {
  const key = SecretKey.generate();
  await registerKey(client, key);
  yield 'key registered';
  ring.file?.replace([key, ...ring.keys]);
  ring.refresh();
  if (ring.primary.id !== key.id)
    throw new SecretKeyError(`${ring.file?.path} was changed by somebody else meanwhile; run svc rotate-keys again.`);
  yield 'key written';
}

async function* resealAll(
  client: PoolClient,
  ring: KeyRing,
  batchSize: number,
): AsyncGenerator<RotationStep, Resealed> {
  const total: Resealed = { accessKeys: 0, privateTokens: 0, unreadable: 0 };
  for (const [name, table] of Object.entries(sealedTables) as [
    keyof typeof sealedTables,
    (typeof sealedTables)[keyof typeof sealedTables],
  ][]) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const batch = await resealBatch(client, ring, { table, after, batchSize });
      total[name] += batch.sealed;
      total.unreadable += batch.unreadable;
      after = batch.last;
      if (batch.sealed > 0) yield 'batch sealed';
    }
  }
  return total;
}

/** The database forgets the keys first, which it refuses while a row needs one; only then may the file. */
async function* dropOthers(
  client: PoolClient,
  ring: KeyRing,
  { batchSize, sealed, isFixed }: { batchSize: number; sealed: Resealed; isFixed: boolean },
): AsyncGenerator<RotationStep, void> {
  for (let round = 1; !(await forgetOthers(client, ring)); round += 1) {
    const more = yield* resealAll(client, ring, batchSize);
    sealed.accessKeys += more.accessKeys;
    sealed.privateTokens += more.privateTokens;
    sealed.unreadable = more.unreadable;
    if (more.unreadable > 0) return;
    if (round === MOST_ROUNDS)
      throw new SecretKeyError(
        'A server keeps sealing with an old key; see to it that all of them have the new one, and run svc rotate-keys --drop-old again.',
      );
  }
  yield 'keys forgotten';
  if (isFixed) return;
  ring.file?.replace([ring.primary]);
  ring.refresh();
  yield 'keys dropped';
}

function fixedFile({ file }: KeyRing, code: string): string {
  return `${file?.path} cannot be replaced here (${code}), so no new key was made: where the file comes from, add one behind the first, restart all servers, put it first, restart them again, and run svc rotate-keys.`;
}

async function forgetOthers(client: PoolClient, ring: KeyRing): Promise<boolean> {
  if ((await countOthers(client, ring)) > 0) return false;
  try {
    await runQuery(client, accessQuery.deleteFrom('access.key_checks').where('key_id', '<>', ring.primary.id));
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === FOREIGN_KEY_VIOLATION) return false;
    throw error;
  }
}

/** Rows that are sealed with another key than the primary one. */
async function countOthers(client: PoolClient, ring: KeyRing): Promise<number> {
  const counts = Object.values(sealedTables).map((table) =>
    selectSealedByOthers(table, ring.primary.id).select((eb) => eb.fn.countAll().as('count')),
  );
  const { rows } = await runQuery(client, sql<{ others: string }>`SELECT ${sql.join(counts, sql` + `)} AS others`);
  return Number(rows[0]?.others);
}
