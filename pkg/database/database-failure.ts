import { types } from 'node:util';
import { UnconfirmedCommitError } from './unconfirmed-commit.ts';

/** The message of each failure for answers and logs: no host, no statement, no value. */
const sentences = {
  connection_lost: 'the database does not answer at present',
  no_answer: 'the database does not answer in time',
  shutting_down: 'the database is shutting down or starting again',
  starting_up: 'the database is starting up',
  too_many_connections: 'the database has no connection left',
  connection_refused: 'the database refuses the connection',
  disk_full: 'the disk of the database is full',
  disk_failing: 'the disk of the database fails',
  data_corrupted: 'the database found damaged data',
  out_of_memory: 'the database is out of memory',
  resource_limit: 'the database is at a limit of its configuration',
  read_only: 'the database is read only',
  no_transaction_ids: 'the database has no transaction ids left until it is vacuumed',
  standby_missing: 'the database waits for a synchronous standby',
  transaction_conflict: 'the database ended a transaction that was in conflict with another',
  lock_timeout: 'the database waited too long for a lock',
  statement_timeout: 'the database took too long for a statement',
} as const;

/** Why the database failed, whatever the statement. Metrics and alerts use these names, so they do not change. */
export type DatabaseFailure = keyof typeof sentences;

export const databaseFailures = Object.keys(sentences) as readonly DatabaseFailure[];

/** For answers, which anyone may read, and for logs: `the disk of the database is full`. */
export function failureSentence(failure: DatabaseFailure): string {
  return sentences[failure];
}

const systemCode = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_)/;
/** Errors of `pg` itself, which have no code. */
const lost =
  /^(?:Connection terminated|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;
const late = /^(?:timeout exceeded when trying to connect|timeout expired|Query read timeout)/;

/** Looked up by the whole code, then by its class. Source: PostgreSQL's appendix A, error codes. */
const byCode: Readonly<Record<string, DatabaseFailure>> = {
  '25006': 'read_only',
  '25P03': 'connection_lost',
  '25P04': 'connection_lost',
  '40001': 'transaction_conflict',
  '40P01': 'transaction_conflict',
  '53100': 'disk_full',
  '53200': 'out_of_memory',
  '53300': 'too_many_connections',
  '55P03': 'lock_timeout',
  '57014': 'statement_timeout',
  '57P01': 'shutting_down',
  '57P02': 'shutting_down',
  '57P03': 'starting_up',
  XX001: 'data_corrupted',
  XX002: 'data_corrupted',
};
const byClass: Readonly<Record<string, DatabaseFailure>> = {
  '08': 'connection_lost',
  '40': 'transaction_conflict',
  '53': 'resource_limit',
  '57P': 'connection_lost',
  '58': 'disk_failing',
};

/** The routines in which 54000 means that no transaction id is left; elsewhere it also means a value too large. */
const idRoutines: ReadonlySet<unknown> = new Set(['GetNewTransactionId', 'GetNewMultiXactId']);

/** The failure of the database itself; undefined if the statement is at fault, or the error is not of the database. */
export function databaseFailure(error: unknown): DatabaseFailure | undefined {
  if (!types.isNativeError(error)) return undefined;
  if (error instanceof UnconfirmedCommitError) return 'standby_missing';
  const { code, severity, routine } = error as { code?: unknown; severity?: unknown; routine?: unknown };
  if (typeof code !== 'string')
    return lost.test(error.message) ? 'connection_lost' : late.test(error.message) ? 'no_answer' : undefined;
  if (systemCode.test(code)) return 'connection_lost';
  if (severity === undefined) return undefined;
  const named =
    (code === '54000' && idRoutines.has(routine) ? 'no_transaction_ids' : undefined) ??
    byCode[code] ??
    byClass[code.slice(0, 3)] ??
    byClass[code.slice(0, 2)];
  return named ?? (severity === 'FATAL' || severity === 'PANIC' ? 'connection_refused' : undefined);
}

const away: ReadonlySet<DatabaseFailure | undefined> = new Set([
  'connection_lost',
  'no_answer',
  'shutting_down',
  'starting_up',
]);

/**
 * Whether an error means that PostgreSQL did not answer. A refusal, such as a full disk or a lock timeout, is an
 * answer.
 */
export function isDatabaseUnreachable(error: unknown): boolean {
  return away.has(databaseFailure(error));
}

/**
 * Whether a connection is still usable after this error: if PostgreSQL answered the statement with an ERROR, or the
 * failure was not the database's. A FATAL ends the connection, and after an unanswered statement the next one would
 * wait.
 */
export function isConnectionUsable(error: unknown): boolean {
  return databaseFailure(error) === undefined || (error as { severity?: unknown }).severity === 'ERROR';
}

/**
 * The reason to append to a message: `: the disk of the database is full`, or nothing if the database is not at fault.
 */
export function failureSuffix(error: unknown): string {
  const failure = databaseFailure(error);
  return failure === undefined ? '' : `: ${failureSentence(failure)}`;
}

/** SQLSTATEs about a user, a password, a database or a right: a retry is refused again. */
const refused = /^(?:28|3D|42)/;

/** Whether a first connection failed for a temporary reason: unreachable, starting up, or out of connections. */
export function isTransientConnectFailure(error: unknown): boolean {
  return databaseFailure(error) !== undefined && !refused.test(String((error as { code?: unknown }).code));
}
