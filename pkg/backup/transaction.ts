import type { Client } from 'pg';
import { DatabaseError, endClient, type Database } from '#pkg/database/index';
import { BackupError } from './backup-error.ts';

/** No limit of the server's or the user's holds, and rows are written alike everywhere. One whose program, or machine, was lost without a word ends by itself. */
const settings: Readonly<Record<string, string>> = {
  statement_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '15min',
  // While it waits for rows it is not idle to PostgreSQL.
  tcp_keepalives_idle: '30',
  tcp_keepalives_interval: '10',
  tcp_keepalives_count: '3',
  lock_timeout: '60s',
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  bytea_output: 'hex',
  extra_float_digits: '1',
  search_path: 'pg_catalog',
};

/**
 * Runs `work` in one transaction on a connection of its own, before anything was asked in it: there is no snapshot yet. It is undone unless `work` ends well. When `signal` aborts, the connection is cut,
 * whatever it is doing, and the signal's reason thrown. Throws BackupError for all that the database says.
 */
export async function inTransaction<T>(database: Database, { begin, signal }: { begin: string; signal: AbortSignal }, work: (client: Client) => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const client = await database.newClient();
  const cut = (): void => void client.connection.stream.destroy();
  signal.addEventListener('abort', cut, { once: true });
  let isCommitting = false;
  try {
    // Before the transaction, whose first SELECT takes its snapshot. Of a setting that this version of PostgreSQL does not have, there is nothing to set.
    await client.query('SELECT set_config(name, value, false) FROM pg_settings JOIN json_each_text($1) AS wanted(wanted_name, value) ON lower(name) = lower(wanted_name)', [JSON.stringify(settings)]);
    await client.query(begin);
    const result = await work(client);
    signal.throwIfAborted();
    isCommitting = true;
    await client.query('COMMIT');
    return result;
  } catch (error) {
    // PostgreSQL may go on without us, and be done.
    if (isCommitting && isLost(error)) throw new BackupError('The connection was lost while PostgreSQL made the work last: whether it did is not known. Look at the database before you go on.', { cause: error });
    throw signal.aborted ? signal.reason : explained(error);
  } finally {
    signal.removeEventListener('abort', cut);
    await endClient(client);
  }
}

function isLost(error: unknown): boolean {
  return error instanceof Error && /^Connection terminated|ECONNRESET|EPIPE/.test(error.message);
}

/** PostgreSQL's words, with what to do where it is known. */
function explained(error: unknown): unknown {
  if (error instanceof BackupError || error instanceof DatabaseError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (code === '53200') return new BackupError('PostgreSQL has no room for the locks of so many tables at once: set max_locks_per_transaction there to 12 for each model, divided by max_connections, and restart it.', { cause: error });
  if (code === '42501') return new BackupError(`The user of svc.database.url lacks a right: ${String(message)}.`, { cause: error });
  if (code === '53100') return new BackupError('The disk of PostgreSQL is full.', { cause: error });
  if (code === '40001') return new BackupError('This standby had to remove rows that the backup was reading: set hot_standby_feedback = on there, or a longer max_standby_streaming_delay, and try again.', { cause: error });
  if (code === '55P03') return new BackupError('Somebody else holds tables that are needed, and does not let go of them: try again.', { cause: error });
  if (typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code)) return new BackupError(`PostgreSQL refused: ${String(message)} (${code}).`, { cause: error });
  if (isLost(error)) return new BackupError('The connection to PostgreSQL broke.', { cause: error });
  return error;
}
