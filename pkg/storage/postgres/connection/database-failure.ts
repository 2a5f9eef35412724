import { databaseFailure } from '#pkg/database/index';

/** What a failed statement means for the one who sent it. */
export type Failure =
  /** The statement is undone and could be sent again as it is: deadlock, lock or statement time-out. */
  | 'retry'
  /** One operation made it fail: apart from the others, each gets its own outcome. */
  | 'split'
  /** The table or a column is not as expected: the model changed. */
  | 'stale'
  /** The connection is gone; whether the statement took effect is not known. */
  | 'unknown'
  /**
   * The statement is undone and sending it again would not help now: disk full, too many connections, a right that was
   * taken away.
   */
  | 'refused';

interface PostgresError extends Error {
  code?: string;
  severity?: string;
  constraint?: string;
}

/** Reads an error of `pg`. Source: PostgreSQL's appendix A, error codes. */
export function classifyFailure(error: unknown): Failure {
  const { code, severity } = error as PostgresError;
  if (code === undefined || severity === undefined || !/^[0-9A-Z]{5}$/.test(code)) return 'unknown';
  if (code.startsWith('57P') || code.startsWith('08') || severity === 'FATAL' || severity === 'PANIC') return 'unknown';
  if (code === '40P01' || code === '40001' || code === '55P03' || code === '57014') return 'retry';
  if (code === '42501' || databaseFailure(error) === 'no_transaction_ids') return 'refused';
  if (code === '42P01' || code === '42703' || code === '42883') return 'stale';
  if (code === '23505' || /^(22|23|42|54)/.test(code)) return 'split';
  return 'refused';
}

/** The unique constraint that a row ran into, if that is what happened. */
export function violatedConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as PostgresError;
  return code === '23505' ? constraint : undefined;
}

/** Had somebody used the idempotency key of a write? */
export function isIdempotencyKeyUsed(error: unknown): boolean {
  return violatedConstraint(error) === 'idempotency_keys_pkey';
}

/**
 * Was a statement sent within a transaction that had failed, or outside of one that it needs? That is a fault of ours.
 */
export function isWrongTransaction(error: unknown): boolean {
  const { code } = error as PostgresError;
  return code === '25P01' || code === '25P02';
}

/** Did a read fail because its table was dropped or lost a column? */
export function isStaleTable(error: unknown): boolean {
  return classifyFailure(error) === 'stale';
}

/** Has PostgreSQL found no room on its disk? What needs less may still have it. */
export function isDiskFull(error: unknown): boolean {
  return databaseFailure(error) === 'disk_full';
}

/** Has a table had more columns than PostgreSQL allows, dropped ones included? */
export function isTooManyColumns(error: unknown): boolean {
  return (error as PostgresError).code === '54011';
}

export function isStatementTimeout(error: unknown): boolean {
  return (error as PostgresError).code === '57014';
}

export function isLockTimeout(error: unknown): boolean {
  return (error as PostgresError).code === '55P03';
}
