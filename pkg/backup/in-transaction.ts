import pg, { type Client } from 'pg';
import { whenAborted } from '#pkg/apimachinery/index';
import { DatabaseError, endClient, type Database } from '#pkg/database/index';
import { BackupError } from './backup-error.ts';

/**
 * Limits of the server or user do not apply, and rows have the same text form everywhere. A session whose client
 * vanished, with its machine or network, ends within a minute while it waits for rows, because PostgreSQL sends
 * keepalives, and at the latest 15 minutes after a statement.
 */
const settings: Readonly<Record<string, string>> = {
  statement_timeout: '0',
  transaction_timeout: '0',
  idle_in_transaction_session_timeout: '15min',
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
 * Runs `work` in one transaction on a connection of its own. `work` starts before the first query, so there is no
 * snapshot yet. Rolls back unless `work` succeeds. When `signal` aborts, cuts the connection, whatever it is doing, and
 * throws the signal's reason. Throws BackupError for all errors of the database, and UnansweredCommit if the outcome is
 * unknown.
 */
export async function inTransaction<T>(
  database: Database,
  { begin, signal }: { begin: string; signal: AbortSignal },
  work: (client: Client) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = await database.newClient();
  const cut = (): void => {
    // The connection is cut here, so its loss is no error.
    client.removeAllListeners('error').on('error', () => undefined);
    client.connection.stream.destroy();
  };
  // An error that PostgreSQL sends between statements, or the end of its connection.
  let last: unknown;
  client.once('error', (error) => (last = error));
  const forget = whenAborted(signal, cut);
  try {
    // Before the transaction, whose first SELECT takes its snapshot. Ignores settings that this version of PostgreSQL
    // lacks.
    await client.query(
      'SELECT set_config(name, value, false) FROM pg_settings JOIN json_each_text($1) AS wanted(wanted_name, value) ON lower(name) = lower(wanted_name)',
      [JSON.stringify(settings)],
    );
    await client.query(begin);
    const result = await work(client);
    signal.throwIfAborted();
    await commit(client);
    return result;
  } catch (error) {
    if (error instanceof UnansweredCommit) throw error;
    throw signal.aborted
      ? signal.reason
      : explainError(last instanceof pg.DatabaseError ? last : error, last !== undefined);
  } finally {
    forget();
    await endClient(client);
  }
}

/**
 * The connection was lost or cut after COMMIT was sent: the changes may be committed, now or once a standby confirms
 * them.
 */
export class UnansweredCommit extends BackupError {
  constructor(transaction: string, options?: ErrorOptions) {
    super(
      `COMMIT was sent, and no answer came: whether the backup was restored is not known. Before a server is started, ask the database: SELECT pg_xact_status('${transaction}') says committed, or aborted, or in progress as long as a standby is waited for.`,
      options,
    );
    this.name = 'UnansweredCommit';
  }
}

async function commit(client: Client): Promise<void> {
  const { rows } = await client.query<{ id: string | null }>('SELECT pg_current_xact_id_if_assigned()::text AS id');
  const id = rows[0]!.id;
  try {
    await client.query('COMMIT');
  } catch (error) {
    // Class 57P: an operator or a shutdown ended the session, perhaps after the commit. For a read-only transaction
    // this does not matter.
    if (id === null || (error instanceof pg.DatabaseError && error.code?.startsWith('57P') !== true)) throw error;
    throw new UnansweredCommit(id, { cause: error });
  }
}

/**
 * PostgreSQL's message, with advice for known errors. Errors of `work` itself, as for a reader that is gone, stay
 * unchanged.
 */
function explainError(error: unknown, isLost: boolean): unknown {
  if (error instanceof BackupError || error instanceof DatabaseError) return error;
  if (!(error instanceof pg.DatabaseError))
    return isLost ? new BackupError('The connection to PostgreSQL broke.', { cause: error }) : error;
  const { code, message } = error;
  if (code === '53200')
    return new BackupError(
      'PostgreSQL has no room for the locks of so many tables at once: set max_locks_per_transaction there to 12 for each model, divided by max_connections, and restart it.',
      { cause: error },
    );
  if (code === '42501')
    return new BackupError(`The user of svc.database.url lacks a right: ${message}.`, { cause: error });
  if (code === '40001')
    return new BackupError(
      'The standby has cleaned up rows that were still being read, as its primary did: set hot_standby_feedback = on there, or max_standby_streaming_delay to more than a backup takes, or back up the primary.',
      { cause: error },
    );
  if (code === '53100') return new BackupError('The disk of PostgreSQL is full.', { cause: error });
  if (code === '55P03')
    return new BackupError('Another session holds locks on tables that are needed: try again.', {
      cause: error,
    });
  return new BackupError(`PostgreSQL refused: ${message} (${code}).`, { cause: error });
}
