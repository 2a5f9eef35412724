import type { Database } from '#pkg/database/index';
import { pollUntil } from './faults/poll-until.ts';

/**
 * Makes commits wait for a standby of this name; an empty name ends the wait. It changes a setting of the whole server,
 * so use it on the test's own PostgreSQL, and only for databases with `synchronous_commit`.
 */
export async function awaitStandby(database: Database, name: string): Promise<void> {
  const { pool } = database;
  await pool.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await pool.query('SELECT pg_reload_conf()');
  await pollUntil(async () => (await namesOfNewSession(database)) === name, 30_000, 'the setting to be read');
  // Commits wait as soon as the checkpointer has read it, too, which it does before its next work.
  await pool.query('CHECKPOINT');
}

async function namesOfNewSession(database: Database): Promise<string | undefined> {
  const client = await database.newClient();
  try {
    const { rows } = await client.query<{ synchronous_standby_names: string }>('SHOW synchronous_standby_names');
    return rows[0]?.synchronous_standby_names;
  } finally {
    await client.end();
  }
}

/** The process id of a session that commits and waits for the standby. */
export async function waitingForStandby({ pool }: Database): Promise<number | undefined> {
  const { rows } = await pool.query<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  return rows[0]?.pid;
}
