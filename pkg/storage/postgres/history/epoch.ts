import type { ClientBase, Pool, PoolClient } from 'pg';
import { runTransaction, type DatabaseLog } from '#pkg/database/index';
import { revisionLock } from '../connection/revision-lock.ts';

/**
 * The control file contains a new timeline only after the first checkpoint; the name of the current WAL file contains
 * it at once.
 */
export const timeline = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)';
/**
 * The next revision when history may have been lost: 1 000 000 000 above the newest known one, and at least 100 000 for
 * each second since 1970. No server writes that fast, so the jump also passes revisions that were given out after an
 * earlier jump and then lost.
 */
const beyond = `greatest((SELECT greatest(last_value, (SELECT max(rev) FROM platform.change_log)) FROM platform.revision) + 1000000000, extract(epoch FROM clock_timestamp())::bigint * 100000)`;

export interface EpochOptions {
  pool: Pool;
  log: DatabaseLog;
  /**
   * PostgreSQL's data files are used only by this program. A restored copy of them is detected by a file time that no
   * copy preserves.
   */
  ownsFiles: boolean;
}

/**
 * Checks whether the database was restored from a backup or a standby took over. Revisions that clients saw may then be
 * given out again: jump over them, and declare all older history void, so that a watch from there must start again.
 * Safe on all replicas at once: one jumps, the others find the jump done.
 */
export async function checkEpoch({ pool, log, ownsFiles }: EpochOptions): Promise<void> {
  const incarnation = incarnationSql(ownsFiles);
  await underRevisionLock(pool, async (client) => {
    const jumped = await jump(
      client,
      `FROM pg_control_system() s WHERE meta.system_identifier <> s.system_identifier::text OR meta.timeline <> ${timeline} OR meta.incarnation <> ${incarnation}`,
      marks(incarnation),
    );
    if (jumped)
      log.warn(
        {},
        'the database was restored or failed over: revisions jump, and watches of older revisions start again',
      );
    // The database is older than this column.
    else await client.query(`UPDATE platform.meta SET incarnation = ${incarnation} WHERE incarnation IS NULL`);
  });
}

/**
 * Jumps when this process knows that history after `compacted` was lost, unless another process has jumped since. It
 * also records the current server, so that a replica that detects the takeover only by that mark finds the jump done.
 */
export async function leaveEpoch(
  { pool, log, ownsFiles }: EpochOptions,
  known: { epoch: number; revision: number },
): Promise<void> {
  await underRevisionLock(pool, async (client) => {
    const jumped = await jump(
      client,
      `FROM pg_control_system() s WHERE epoch <= ${known.epoch} AND compacted < ${known.revision}`,
      marks(incarnationSql(ownsFiles)),
    );
    if (jumped)
      log.warn(
        {},
        'the database was restored under a running server: revisions jump, and watches of older revisions start again',
      );
  });
}

function marks(incarnation: string): string {
  return `, system_identifier = s.system_identifier::text, timeline = ${timeline}, incarnation = ${incarnation}`;
}

/** A restored dump has new OIDs; a copied data folder has a new change time of its files. */
function incarnationSql(ownsFiles: boolean): string {
  const tables = `(SELECT oid FROM pg_database WHERE datname = current_database()), 'platform.meta'::regclass::oid`;
  return `concat_ws('/', ${tables}${ownsFiles ? `, (SELECT extract(epoch FROM change) FROM pg_stat_file('PG_VERSION'))` : ''})`;
}

async function jump(client: ClientBase, condition: string, more = ''): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE platform.meta SET epoch = epoch + 1, compacted = setval('platform.revision', ${beyond})${more} ${condition}`,
  );
  if (rowCount !== 1) return false;
  // The newest log row gives the revision of every list: it must lie above the void history.
  await client.query(
    "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (nextval('platform.revision'), 0, 0, 'M', '', '')",
  );
  return true;
}

/** Jumps in a database that was restored from a backup and is not used yet, within the transaction that restores it. */
export async function voidHistory(client: ClientBase): Promise<void> {
  await jump(client, 'WHERE true');
}

function underRevisionLock(pool: Pool, work: (client: PoolClient) => Promise<void>): Promise<void> {
  const locked = async (client: PoolClient): Promise<void> => {
    await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
    await work(client);
  };
  return runTransaction(pool, locked, {
    begin: 'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 5000; SET LOCAL lock_timeout = 10000',
  });
}
