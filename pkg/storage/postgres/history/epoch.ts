import type { ClientBase, Pool, PoolClient } from 'pg';
import { runTransaction, type DatabaseLog } from '#pkg/database/index';
import { revisionLock } from '../connection/revision-lock.ts';

/**
 * The control file tells of a new timeline only after the first checkpoint; the name of the file being written tells at
 * once.
 */
export const timeline = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)';
/**
 * Where revisions go on when history may have been lost: a thousand million beyond the newest known, and at least at a
 * hundred thousand for each second since 1970. No server writes so fast, so what was given out after an earlier jump,
 * and lost in its turn, is passed as well.
 */
const beyond = `greatest((SELECT greatest(last_value, (SELECT max(rev) FROM platform.change_log)) FROM platform.revision) + 1000000000, extract(epoch FROM clock_timestamp())::bigint * 100000)`;

export interface EpochOptions {
  pool: Pool;
  log: DatabaseLog;
  /**
   * PostgreSQL is on files that only this program uses: a copy of them that was put back is noticed, by a time that no
   * copy keeps.
   */
  ownsFiles: boolean;
}

/**
 * Has the database been restored from a backup, or did a standby take over? Then revisions that clients saw may be
 * given out again: jump over them, and declare all older history void, so that a watch from there is told to start
 * anew. Every replica may ask at once: one jumps, the others see that it is done.
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
      log.warn({}, 'the database was restored or failed over: revisions jump, and watches of older ones start anew');
    // Of a database that is older than this mark.
    else await client.query(`UPDATE platform.meta SET incarnation = ${incarnation} WHERE incarnation IS NULL`);
  });
}

/**
 * The same for who knows that history was lost after `compacted`, unless somebody has jumped since. It marks the server
 * it is on, too: who sees only by that mark that another server took over finds it done.
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
        'the database was restored under a running server: revisions jump, and watches of older ones start anew',
      );
  });
}

function marks(incarnation: string): string {
  return `, system_identifier = s.system_identifier::text, timeline = ${timeline}, incarnation = ${incarnation}`;
}

/**
 * A dump that is loaded gets new numbers for its tables; a data folder that is copied gets a new time of change for its
 * files.
 */
function incarnationSql(ownsFiles: boolean): string {
  const tables = `(SELECT oid FROM pg_database WHERE datname = current_database()), 'platform.meta'::regclass::oid`;
  return `concat_ws('/', ${tables}${ownsFiles ? `, (SELECT extract(epoch FROM change) FROM pg_stat_file('PG_VERSION'))` : ''})`;
}

async function jump(client: ClientBase, condition: string, more = ''): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE platform.meta SET epoch = epoch + 1, compacted = setval('platform.revision', ${beyond})${more} ${condition}`,
  );
  if (rowCount !== 1) return false;
  // The newest row of the log is the revision of every list: it must lie above what is void.
  await client.query(
    "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (nextval('platform.revision'), 0, 0, 'M', '', '')",
  );
  return true;
}

/** The same for a database that was made of a backup and that nobody uses yet, within the transaction of its making. */
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
