import { sql } from 'kysely';
import type { PoolClient } from 'pg';
import { runQuery } from '#pkg/database/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { registerKey } from './key-checks.ts';
import type { KeyRing } from './key-ring.ts';
import { ObjectSealer } from './object-sealer.ts';
import { resealBatch, type Resealed } from './reseal.ts';
import { SecretKeyError } from './secret-error.ts';
import { SecretKey } from './secret-key.ts';
import { sealedTables, selectSealedByOthers } from './sealed-tables.ts';

const lockName = 'svc rotate-keys';
/** Maximum attempts to drop a key with which a server keeps sealing. */
const maxRounds = 10;
const lockTimeout = '5s';
const foreignKeyViolation = '23503';
const lockNotAvailable = '55P03';

/** What the keys seal outside of schema `access`. */
export interface SealedObjects {
  /** Seals with the primary key what other keys have sealed. */
  reseal(sealer: ObjectSealer): Promise<ResealedObjects>;
}

export interface ResealedObjects {
  objects: number;
  /** Texts of their history. */
  history: number;
  /** Objects and texts that cannot be opened. */
  unreadable: number;
}

export interface RotateKeysOptions {
  database: AccessDatabase;
  ring: KeyRing;
  /** Default: there are none. */
  objects?: SealedObjects;
  /**
   * Creates no new key; deletes all but the first from the database, once nothing is sealed with them, and from the
   * file if it can be replaced.
   */
  dropOld?: boolean;
  /** Rows per transaction; default 200. */
  batchSize?: number;
}

/** The step that was just committed. */
export type RotationStep = 'key registered' | 'key written' | 'batch sealed' | 'keys forgotten' | 'keys dropped';

export interface RotationResult extends Resealed {
  /** Number of objects that were sealed again. */
  objects: number;
  /** Was a new key created? Never for keys from an option, or if the file has several. */
  isNewKey: boolean;
  /** Number of removed keys. */
  dropped: number;
  /** Number of keys that remain after the first. */
  old: number;
  /** Error code, for example EROFS, if unneeded keys stay in a file that cannot be replaced. */
  obstacle?: string;
}

/**
 * Reseals every secret with the primary key; creates a new one if the keys are in a file that has only one. May be
 * killed between any two steps and run again; servers that use the same file keep running. Secrets that cannot be
 * opened are left and counted, and their key is not dropped. Throws SecretKeyError while another rotation runs on this
 * database, and, with nothing changed, if a new key cannot be written to the file.
 */
export async function* rotateKeys({
  database,
  ring,
  objects = { reseal: async () => ({ objects: 0, history: 0, unreadable: 0 }) },
  dropOld = false,
  batchSize = 200,
}: RotateKeysOptions): AsyncGenerator<RotationStep, RotationResult> {
  const client = await database.pool.connect();
  try {
    await lock(client);
    ring.refresh();
    // Several keys mean that a rotation has begun: by this command, or by an operator who distributes the keys to
    // machines.
    const isNewKey = !dropOld && ring.file !== undefined && ring.keys.length === 1;
    // Checked before the database registers a key that cannot be saved, or deletes one that stays in the file.
    const obstacle = isNewKey || dropOld ? ring.file?.obstacle(ring.keys) : undefined;
    if (isNewKey && obstacle !== undefined) throw new SecretKeyError(fixedFile(ring, obstacle));
    if (isNewKey) yield* addPrimary(client, ring);
    const scope = { ring, objects, sealer: new ObjectSealer(ring), batchSize };
    const sealed = yield* resealAll(client, scope);
    const before = ring.keys.length;
    if (dropOld) yield* dropOthers(client, scope, { sealed, isFixed: obstacle !== undefined });
    const { history: _, ...counts } = sealed;
    return {
      ...counts,
      isNewKey,
      dropped: before - ring.keys.length,
      old: ring.keys.length - 1,
      ...(obstacle === undefined ? {} : { obstacle }),
    };
  } finally {
    // Closes the connection, which releases the lock.
    client.release(true);
  }
}

/** Waits briefly, as PostgreSQL may not have noticed yet that a previous process was killed. */
async function lock(client: PoolClient): Promise<void> {
  await runQuery(client, sql`SELECT set_config('lock_timeout', ${lockTimeout}, false)`);
  try {
    await runQuery(client, sql`SELECT pg_advisory_lock(hashtextextended(${lockName}, 0))`);
  } catch (error) {
    if ((error as { code?: string }).code !== lockNotAvailable) throw error;
    throw new SecretKeyError('Another svc rotate-keys is running on this database; wait until it has finished.', {
      cause: error,
    });
  }
  await client.query('RESET lock_timeout');
}

/** Registers the key first, as servers seal with it as soon as it is in the file. */
async function* addPrimary(client: PoolClient, ring: KeyRing): AsyncGenerator<RotationStep, void> {
  const key = SecretKey.generate();
  await registerKey(client, key);
  yield 'key registered';
  ring.file?.replace([key, ...ring.keys]);
  ring.refresh();
  if (ring.primary.id !== key.id)
    throw new SecretKeyError(`${ring.file?.path} was changed by another program meanwhile; run svc rotate-keys again.`);
  yield 'key written';
}

/** What is sealed, and with what it is sealed again. */
interface RotationScope {
  ring: KeyRing;
  objects: SealedObjects;
  sealer: ObjectSealer;
  batchSize: number;
}

interface Sealed extends Resealed {
  objects: number;
  history: number;
}

async function* resealAll(
  client: PoolClient,
  { ring, objects, sealer, batchSize }: RotationScope,
): AsyncGenerator<RotationStep, Sealed> {
  const total: Sealed = { accessKeys: 0, privateTokens: 0, objects: 0, history: 0, unreadable: 0 };
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
  const resealed = await objects.reseal(sealer);
  total.objects = resealed.objects;
  total.history = resealed.history;
  total.unreadable += resealed.unreadable;
  if (resealed.objects + resealed.history > 0) yield 'batch sealed';
  return total;
}

/**
 * Deletes the keys from the database first, which fails while a row needs one; only then from the file. No constraint
 * protects the key of an object: a round that finds nothing to seal must come before.
 */
async function* dropOthers(
  client: PoolClient,
  scope: RotationScope,
  { sealed, isFixed }: { sealed: Sealed; isFixed: boolean },
): AsyncGenerator<RotationStep, void> {
  const { ring } = scope;
  let isSettled = sealed.objects + sealed.history === 0;
  for (let round = 1; !isSettled || sealed.unreadable > 0 || !(await forgetOthers(client, ring)); round += 1) {
    const more = yield* resealAll(client, scope);
    sealed.accessKeys += more.accessKeys;
    sealed.privateTokens += more.privateTokens;
    sealed.objects += more.objects;
    sealed.unreadable = more.unreadable;
    isSettled = more.objects + more.history === 0;
    if (more.unreadable > 0) return;
    if (round === maxRounds)
      throw new SecretKeyError(
        'A server still seals with an old key; make sure that all servers have the new key, and run svc rotate-keys --drop-old again.',
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
    if ((error as { code?: string }).code === foreignKeyViolation) return false;
    throw error;
  }
}

/** Number of rows that are not sealed with the primary key. */
async function countOthers(client: PoolClient, ring: KeyRing): Promise<number> {
  const counts = Object.values(sealedTables).map((table) =>
    selectSealedByOthers(table, ring.primary.id).select((eb) => eb.fn.countAll().as('count')),
  );
  const { rows } = await runQuery(client, sql<{ others: string }>`SELECT ${sql.join(counts, sql` + `)} AS others`);
  return Number(rows[0]?.others);
}
