import type { Database } from '#pkg/database/index';
import { isLockTimeout, isRangeTaken, isStatementTimeout } from '../connection/database-failure.ts';
import { SessionLock } from '../connection/session-lock.ts';

const auditLock = 820;
/** Days for which partitions are made ahead: a database that no server maintains for so long still has them. */
const daysAhead = 7;
const dayMs = 86_400_000;
/** Rows that one statement removes. */
const stepRows = 5000;
/** Writers wait behind a change of partitions, which waits for open transactions no longer than this. */
const limits = "SET LOCAL lock_timeout = '100ms'; SET LOCAL statement_timeout = '2s'";

/**
 * The partitions of `platform.audit_events`: one for each day of UTC, made ahead, so that no write waits for one.
 * `audit_events_restored` has the rows of a restored backup. Rows of a day without a partition are in the default one.
 */
export class AuditPartitions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Resolves with false if something is left for a later round: another replica is at work, or an open transaction,
   * such as a backup, reads the log.
   */
  async maintain(retentionDays: number | undefined, signal?: AbortSignal): Promise<boolean> {
    const lock = await SessionLock.open(this.#database);
    try {
      await lock.query('SELECT pg_advisory_lock($1)', [auditLock]);
      const { rows } = await lock.query<{ today: string; present: string[] }>(
        `SELECT extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC'))::text AS today,
           ARRAY(SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'platform.audit_events'::regclass) AS present`,
      );
      const today = Number(rows[0]!.today) * 1000;
      const present = new Set(rows[0]!.present);
      let isDone = true;
      for (let day = today; day <= today + daysAhead * dayMs; day += dayMs)
        if (!present.has(partitionOf(day)) && signal?.aborted !== true) isDone = (await add(lock, day)) && isDone;
      if (retentionDays === undefined) return isDone;
      return (await remove(lock, { present, oldest: today - retentionDays * dayMs, signal })) && isDone;
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return false;
    } finally {
      await lock.release();
    }
  }
}

/**
 * Attaches the new partition instead of creating it in place: that does not block the log's writers. A day of which
 * another partition has rows gets none.
 */
async function add(lock: SessionLock, day: number): Promise<boolean> {
  const name = `platform.${partitionOf(day)}`;
  const [start, end] = [`${isoDay(day)}Z`, `${isoDay(day + dayMs)}Z`];
  const { rowCount } = await lock.query(
    'SELECT FROM platform.audit_events_default WHERE at >= $1::timestamptz AND at < $2::timestamptz LIMIT 1',
    [start, end],
  );
  if (rowCount !== 0) return true;
  try {
    return await change(
      lock,
      `CREATE TABLE ${name} (LIKE platform.audit_events INCLUDING DEFAULTS);
       ALTER TABLE platform.audit_events ATTACH PARTITION ${name} FOR VALUES FROM ('${start}') TO ('${end}')`,
    );
  } catch (error) {
    if (!isRangeTaken(error)) throw error;
    return true;
  }
}

/** Drops the partitions of days before `oldest`, and removes such rows from those that have rows of many days. */
async function remove(
  lock: SessionLock,
  { present, oldest, signal }: { present: ReadonlySet<string>; oldest: number; signal: AbortSignal | undefined },
): Promise<boolean> {
  let isDone = true;
  for (const name of present) {
    if (signal?.aborted === true) return false;
    // The names sort by day.
    if (isOfOneDay.test(name) && name < partitionOf(oldest))
      isDone = (await change(lock, `DROP TABLE platform.${name}`)) && isDone;
  }
  for (const name of present) {
    for (let isLeft = !isOfOneDay.test(name); isLeft;) {
      if (signal?.aborted === true) return false;
      const { rowCount } = await lock.query(
        `DELETE FROM platform.${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM platform.${name} WHERE at < to_timestamp($1) LIMIT ${stepRows}))`,
        [oldest / 1000],
      );
      isLeft = rowCount === stepRows;
    }
  }
  return isDone;
}

/** Returns false if the change took too long. */
async function change(lock: SessionLock, statements: string): Promise<boolean> {
  try {
    await lock.run(`BEGIN; ${limits}; ${statements}; COMMIT`);
    return true;
  } catch (error) {
    await lock.run('ROLLBACK');
    if (isLockTimeout(error) || isStatementTimeout(error)) return false;
    throw error;
  }
}

const isOfOneDay = /^audit_events_\d{8}$/;

function partitionOf(day: number): string {
  return `audit_events_${isoDay(day).replaceAll('-', '')}`;
}

function isoDay(day: number): string {
  return new Date(day).toISOString().slice(0, 10);
}
