import type { Pool } from 'pg';
import type { Log } from '#pkg/database/index';
import { revisionLock } from './batch-statement.ts';

/** The control file tells of a new timeline only after the first checkpoint; the name of the file being written tells at once. */
export const timeline = 'substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)';
/** How far revisions jump when history may have been lost: more than any server wrote since its last backup. */
const jump = 1_000_000_000;

/**
 * Has the database been restored from a backup, or did a standby take over? Then revisions that clients saw may be
 * given out again: jump over them, and declare all older history void, so that a watch from there is told to start anew.
 * Every replica may ask at once: one jumps, the others see that it is done.
 */
export async function checkEpoch(pool: Pool, log: Log): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await client.query(`SELECT pg_advisory_xact_lock(${revisionLock})`);
    const { rowCount } = await client.query(
      `UPDATE platform.meta SET system_identifier = s.system_identifier::text, timeline = ${timeline}, epoch = epoch + 1,
         compacted = setval('platform.revision', (SELECT greatest(last_value, (SELECT max(rev) FROM platform.change_log)) FROM platform.revision) + ${jump})
       FROM pg_control_system() s WHERE meta.system_identifier <> s.system_identifier::text OR meta.timeline <> ${timeline}`,
    );
    if (rowCount === 1) {
      // The newest row of the log is the revision of every list: it must lie above what is void.
      await client.query("INSERT INTO platform.change_log (rev, size, model, type, namespace, name) VALUES (nextval('platform.revision'), 0, 0, 'M', '', '')");
      log.warn({}, 'the database was restored or failed over: revisions jump, and watches of older ones start anew');
    }
    await client.query('COMMIT');
    client.release();
  } catch (error) {
    client.release(error instanceof Error ? error : true);
    throw error;
  }
}
