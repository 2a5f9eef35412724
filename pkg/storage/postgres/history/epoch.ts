import type { ClientBase, Pool } from 'pg';
import type { DatabaseLog } from '#pkg/database/index';
import { underRevisionLock } from '../connection/revision-lock.ts';
import { isInGap } from './gaps.ts';

/**
 * The control file contains a new timeline only after the first checkpoint; the name of the current WAL file contains
 * it at once.
 */
export const timeline = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)';
const newest = 'greatest((SELECT last_value FROM platform.revision), (SELECT max(rev) FROM platform.change_log))';
/**
 * The revision that a jump reaches: 100 000 for each second since 1970. No server writes that fast, so it is above all
 * that was given out before, after an earlier jump that was itself lost, too. If the clock was set back, it is
 * 1 000 000 000 above the newest known one, and as much more as the clock tells, so that two such jumps differ.
 */
const beyond = `(SELECT CASE WHEN by_time > newest THEN by_time ELSE newest + 1000000000 + by_time % 1000000000 END FROM (SELECT ${newest} AS newest, (extract(epoch FROM clock_timestamp()) * 100000)::bigint AS by_time) n)`;

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
 * Compares the database with the server that wrote to it last, before the first write on a new one:
 * - A standby took over (another timeline): it has a prefix of the history, which stays valid. The revisions above it may
 *   have been given out: they become a gap, and nobody can go on from within it.
 * - A backup was restored: nothing tells what it lacks, so all history is void, and every watch starts again.
 *
 * Either way revisions jump. Safe on all replicas at once: one jumps, the others find the jump done.
 */
export async function checkEpoch({ pool, log, ownsFiles }: EpochOptions): Promise<void> {
  await underRevisionLock(pool, (client) => check(client, log, incarnationSql(ownsFiles)));
}

/**
 * Does the same for a process that knows a revision which is not in the log any more. Unless the revision lies in a gap,
 * or another process has declared older history void since, it declares all history void. Returns true if the revision
 * lies in a gap of the known epoch: then only what lies in gaps is lost.
 */
export async function leaveEpoch(
  { pool, log, ownsFiles }: EpochOptions,
  known: { epoch: number; revision: number },
): Promise<boolean> {
  return underRevisionLock(pool, async (client) => {
    const incarnation = incarnationSql(ownsFiles);
    await check(client, log, incarnation);
    const isVoid = await voidIf(
      client,
      `epoch <= ${known.epoch} AND compacted < ${known.revision} AND NOT ${isInGap(known.revision)}`,
      incarnation,
    );
    if (isVoid)
      log.warn(
        {},
        'the database was restored under a running server: revisions jump, and watches of older revisions start again',
      );
    const { rows } = await client.query<{ in_gap: boolean }>(
      `SELECT epoch = ${known.epoch} AND ${isInGap(known.revision)} AS in_gap FROM platform.meta`,
    );
    return rows[0]!.in_gap;
  });
}

async function check(client: ClientBase, log: DatabaseLog, incarnation: string): Promise<void> {
  // An operator sets the timeline to 0 to say so: docs/operations.md.
  const isRestored = `meta.system_identifier <> s.system_identifier::text OR meta.incarnation <> ${incarnation} OR meta.timeline = '0'`;
  if (await voidIf(client, isRestored, incarnation)) {
    log.warn({}, 'the database was restored: revisions jump, and watches of older revisions start again');
    return;
  }
  const gap = await openGap(client);
  if (gap !== undefined)
    log.warn(
      gap,
      'the database failed over or was recovered: revisions jump, and watches of the lost ones start again',
    );
  // The database is older than this column.
  await client.query(`UPDATE platform.meta SET incarnation = ${incarnation} WHERE incarnation IS NULL`);
}

/** Returns the newest revision that survived, and the one that the next revisions exceed; undefined without a takeover. */
async function openGap(client: ClientBase): Promise<{ after: number; upTo: number } | undefined> {
  const { rows } = await client.query<{ after: string; up_to: string }>(
    `WITH jumped AS (UPDATE platform.meta SET timeline = ${timeline} WHERE timeline <> ${timeline} RETURNING setval('platform.revision', ${beyond}) AS up_to)
     INSERT INTO platform.gaps (after, up_to) SELECT (SELECT max(rev) FROM platform.change_log), up_to FROM jumped RETURNING after, up_to`,
  );
  const [gap] = rows;
  if (gap === undefined) return undefined;
  await mark(client);
  return { after: Number(gap.after), upTo: Number(gap.up_to) };
}

/** A restored dump has new OIDs; a copied data folder has a new change time of its files. */
function incarnationSql(ownsFiles: boolean): string {
  const tables = `(SELECT oid FROM pg_database WHERE datname = current_database()), 'platform.meta'::regclass::oid`;
  return `concat_ws('/', ${tables}${ownsFiles ? `, (SELECT extract(epoch FROM change) FROM pg_stat_file('PG_VERSION'))` : ''})`;
}

/** Voids all history if the condition holds, and records the current server. Returns whether it did. */
function voidIf(client: ClientBase, condition: string, incarnation: string): Promise<boolean> {
  return voidWhere(
    client,
    `FROM pg_control_system() s WHERE ${condition}`,
    `, system_identifier = s.system_identifier::text, timeline = ${timeline}, incarnation = ${incarnation}`,
  );
}

async function voidWhere(client: ClientBase, condition: string, more = ''): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE platform.meta SET epoch = epoch + 1, compacted = setval('platform.revision', ${beyond})${more} ${condition}`,
  );
  if (rowCount !== 1) return false;
  await mark(client);
  return true;
}

/** The newest row of the log gives the revision of every list: it must lie above what was lost. */
async function mark(client: ClientBase): Promise<void> {
  await client.query(
    "INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (nextval('platform.revision'), 0, 0, 'M', '', '')",
  );
}

/** Jumps in a database that was restored from a backup and is not used yet, within the transaction that restores it. */
export async function voidHistory(client: ClientBase): Promise<void> {
  await voidWhere(client, 'WHERE true');
}
