import { databaseFailure } from '#pkg/database/index';

/** How the caller must handle a failed statement. */
export type Failure =
  /** The statement was rolled back and can be sent again: deadlock, lock or statement timeout, a new timeline. */
  | 'retry'
  /** One operation caused the failure: send the operations separately, so that each gets its own outcome. */
  | 'split'
  /** The table or a column is not as expected: the model changed. */
  | 'stale'
  /** The connection is lost; the outcome of the statement is unknown. */
  | 'unknown'
  /**
   * The statement was rolled back and a retry would not help now: disk full, too many connections, a revoked privilege.
   */
  | 'refused';

/** SQLSTATE of a write on a server that took over, before `checkEpoch` has jumped over the lost revisions. */
export const otherTimelineCode = 'SV001';

interface PostgresError extends Error {
  code?: string;
  severity?: string;
  constraint?: string;
}

/** Classifies an error of `pg`. Source: PostgreSQL's appendix A, error codes. */
export function classifyFailure(error: unknown): Failure {
  const { code, severity } = error as PostgresError;
  if (code === undefined || severity === undefined || !/^[0-9A-Z]{5}$/.test(code)) return 'unknown';
  if (code.startsWith('57P') || code.startsWith('08') || severity === 'FATAL' || severity === 'PANIC') return 'unknown';
  if (code === otherTimelineCode) return 'retry';
  if (code === '40P01' || code === '40001' || code === '55P03' || code === '57014') return 'retry';
  if (code === '42501' || databaseFailure(error) === 'no_transaction_ids') return 'refused';
  if (code === '42P01' || code === '42703' || code === '42883') return 'stale';
  if (code === '23505' || /^(22|23|42|54)/.test(code) || isRaised(error)) return 'split';
  return 'refused';
}

/** Did a function in PL/pgSQL raise this error without a code of its own? No function of svc does: it is somebody's trigger. */
export function isRaised(error: unknown): boolean {
  return (error as PostgresError).code === 'P0001';
}

/** The unique constraint that a row violated; undefined for any other error. */
export function violatedConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as PostgresError;
  return code === '23505' ? constraint : undefined;
}

/** Was the idempotency key of a write already used? */
export function isIdempotencyKeyUsed(error: unknown): boolean {
  return violatedConstraint(error) === 'idempotency_keys_pkey';
}

/** Must `checkEpoch` run before this write? */
export function isOtherTimeline(error: unknown): boolean {
  return (error as PostgresError).code === otherTimelineCode;
}

/** Was a statement sent in a failed transaction, or outside of a required one? That is a bug of this program. */
export function isWrongTransaction(error: unknown): boolean {
  const { code } = error as PostgresError;
  return code === '25P01' || code === '25P02';
}

/** Did a read fail because its table was dropped or lost a column? */
export function isStaleTable(error: unknown): boolean {
  return classifyFailure(error) === 'stale';
}

/** Is PostgreSQL's disk full? A smaller write may still succeed. */
export function isDiskFull(error: unknown): boolean {
  return databaseFailure(error) === 'disk_full';
}

/** Has a table reached PostgreSQL's limit of columns, dropped ones included? */
export function isTooManyColumns(error: unknown): boolean {
  return (error as PostgresError).code === '54011';
}

export function isStatementTimeout(error: unknown): boolean {
  return (error as PostgresError).code === '57014';
}

export function isLockTimeout(error: unknown): boolean {
  return (error as PostgresError).code === '55P03';
}

/** Does another partition have rows of the range, or all of the range? */
export function isRangeTaken(error: unknown): boolean {
  const { code } = error as PostgresError;
  return code === '23514' || code === '42P17';
}
