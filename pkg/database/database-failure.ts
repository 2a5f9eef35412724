import { types } from 'node:util';

/** What each failure of the database is called, in the words of answers and logs: no host, no statement, no value. */
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

/**
 * Why the database did not do what it was asked for, whatever that was. Metrics and alerts have these names; they are
 * kept.
 */
export type DatabaseFailure = keyof typeof sentences;

export const databaseFailures = Object.keys(sentences) as readonly DatabaseFailure[];

/** For answers, which strangers may read, and for logs: `the disk of the database is full`. */
export function failureSentence(failure: DatabaseFailure): string {
  return sentences[failure];
}

const systemCode = /^(?:ECONN|EPIPE|ETIMEDOUT|ENOENT|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|EAI_)/;
/** Of `pg` itself, which gives them no code. */
const lost =
  /^(?:Connection terminated|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;
const late = /^(?:timeout exceeded when trying to connect|timeout expired|Query read timeout)/;

/** By the whole code, then by its class. Source: PostgreSQL's appendix A, error codes. */
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

/** Where 54000, which a value that is too large has too, says that no transaction id is given out. */
const idRoutines: ReadonlySet<unknown> = new Set(['GetNewTransactionId', 'GetNewMultiXactId']);

/**
 * Names what went wrong with the database itself; undefined where the statement is to blame, or it is no error of the
 * database.
 */
export function databaseFailure(error: unknown): DatabaseFailure | undefined {
  if (!types.isNativeError(error)) return undefined;
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
 * Did something fail because nobody answered? What PostgreSQL refuses, as its disk is full or a lock does not come, is
 * an answer.
 */
export function isDatabaseAway(error: unknown): boolean {
  return away.has(databaseFailure(error));
}

/**
 * Is a connection after this error what it was before? It is where PostgreSQL answered the statement with an ERROR, or
 * something else than the database failed. A FATAL ends it, and behind a statement without an answer the next one would
 * wait.
 */
export function keepsConnection(error: unknown): boolean {
  return databaseFailure(error) === undefined || (error as { severity?: unknown }).severity === 'ERROR';
}

/**
 * The end of a sentence that an answer or a log begins: `: the disk of the database is full`, or nothing where the
 * database is not to blame.
 */
export function becauseOf(error: unknown): string {
  const failure = databaseFailure(error);
  return failure === undefined ? '' : `: ${failureSentence(failure)}`;
}

/** Of a user, a password, a database or a right: refused again, however often it is tried. */
const refused = /^(?:28|3D|42)/;

/** Did a first connection fail for a reason that may pass: nobody there, starting up, no place left? */
export function isWorthAnotherTry(error: unknown): boolean {
  return databaseFailure(error) !== undefined && !refused.test(String((error as { code?: unknown }).code));
}
