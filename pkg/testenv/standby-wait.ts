import type { Database } from '#pkg/database/index';

/**
 * Makes commits wait for a standby of this name; an empty name ends the wait. It changes a setting of the whole server,
 * so use it on the test's own PostgreSQL, and only for databases with `synchronous_commit`.
 */
export async function awaitStandby({ pool }: Database, name: string): Promise<void> {
  await pool.query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await pool.query('SELECT pg_reload_conf()');
}

/** The process id of a session that commits and waits for the standby. */
export async function waitingForStandby({ pool }: Database): Promise<number | undefined> {
  const { rows } = await pool.query<{ pid: number }>("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  return rows[0]?.pid;
}
