import type { Database } from '#pkg/database/index';
import { isLockTimeout, isRangeTaken } from '../connection/database-failure.ts';
import { SessionLock } from '../connection/session-lock.ts';

const auditLock = 820;
/** Days for which partitions are made ahead: a database that no server maintains for so long still has them. */
const daysAhead = 7;
const dayMs = 86_400_000;
/** Rows that one statement removes from the default partition. */
const stepRows = 5000;

/**
 * The partitions of `platform.audit_events`: one for each day of UTC, made ahead, so that no write waits for one. Rows
 * of a day without a partition, such as those of a restored backup, are in the default partition.
 */
export class AuditPartitions {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Leaves to a later round what would wait longer than a second, and everything while another replica works. */
  async maintain(retentionDays: number | undefined): Promise<void> {
    const lock = await SessionLock.open(this.#database);
    try {
      await lock.query('SELECT pg_advisory_lock($1)', [auditLock]);
      const { rows } = await lock.query<{ today: string; present: string[] }>(
        `SELECT extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC'))::text AS today,
           ARRAY(SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'platform.audit_events'::regclass) AS present`,
      );
      const today = Number(rows[0]!.today) * 1000;
      const present = new Set(rows[0]!.present);
      for (let day = today; day <= today + daysAhead * dayMs; day += dayMs)
        if (!present.has(partitionOf(day))) await add(lock, day);
      if (retentionDays !== undefined) await remove(lock, present, today - retentionDays * dayMs);
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
    } finally {
      await lock.release();
    }
  }
}

/**
 * Attaches the new partition instead of creating it in place: that does not block the log's writers. A day of which the
 * default partition has rows gets none.
 */
async function add(lock: SessionLock, day: number): Promise<void> {
  const name = `platform.${partitionOf(day)}`;
  try {
    await lock.run(
      `CREATE TABLE ${name} (LIKE platform.audit_events INCLUDING DEFAULTS);
       ALTER TABLE platform.audit_events ATTACH PARTITION ${name} FOR VALUES FROM ('${isoDay(day)}Z') TO ('${isoDay(day + dayMs)}Z')`,
    );
  } catch (error) {
    if (!isRangeTaken(error)) throw error;
  }
}

/** Drops the partitions of days before `oldest`, and removes such rows from the default partition. */
async function remove(lock: SessionLock, present: ReadonlySet<string>, oldest: number): Promise<void> {
  // The names sort by day.
  for (const name of present) {
    if (/^audit_events_\d{8}$/.test(name) && name < partitionOf(oldest)) await lock.run(`DROP TABLE platform.${name}`);
  }
  for (;;) {
    const { rowCount } = await lock.query(
      `DELETE FROM platform.audit_events_default WHERE ctid = ANY (ARRAY(SELECT ctid FROM platform.audit_events_default WHERE at < to_timestamp($1) LIMIT ${stepRows}))`,
      [oldest / 1000],
    );
    if (rowCount !== stepRows) return;
  }
}

function partitionOf(day: number): string {
  return `audit_events_${isoDay(day).replaceAll('-', '')}`;
}

function isoDay(day: number): string {
  return new Date(day).toISOString().slice(0, 10);
}
