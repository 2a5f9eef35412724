import { types } from 'node:util';
import { isStatusError } from '#pkg/apimachinery/index';
import { databaseFailure, failureSentence } from '#pkg/database/index';
import { StorageError } from '../../storage-error.ts';
import {
  classifyFailure,
  isRaised,
  isStatementTimeout,
  isTooManyColumns,
  isWrongTransaction,
} from './database-failure.ts';

/** Bugs of this program, and aborted work. */
const notOfDatabase = new Set(['TypeError', 'RangeError', 'AbortError']);

const tooManyColumns =
  'the table of this model takes no more columns: of the 1600 that PostgreSQL allows, those of indexes that are gone count too';

/** The only place that converts a database error to a StorageError; other errors stay unchanged. */
export function translateError(error: unknown): unknown {
  if (
    error instanceof StorageError ||
    isStatusError(error) ||
    !types.isNativeError(error) ||
    notOfDatabase.has(error.name)
  )
    return error;
  if (isWrongTransaction(error)) return error;
  if (isStatementTimeout(error))
    return new StorageError('Timeout', failureSentence('statement_timeout'), { cause: error });
  if (isRaised(error))
    return new StorageError('Unavailable', 'a trigger in the database, which is not of svc, refused to do this', {
      cause: error,
    });
  const failure = classifyFailure(error);
  if (failure === 'split') {
    const message = isTooManyColumns(error) ? tooManyColumns : 'a value is beyond what can be stored or compared';
    const cause = { reason: 'FieldValueInvalid', message };
    return new StorageError('InvalidKey', cause.message, { causes: [cause], cause: error });
  }
  if (failure === 'stale') return new StorageError('ModelNotFound', 'the model does not exist', { cause: error });
  const named = databaseFailure(error);
  const message =
    named !== undefined
      ? failureSentence(named)
      : 'severity' in error
        ? 'the database refused to do this'
        : failureSentence('connection_lost');
  return new StorageError('Unavailable', message, { cause: error });
}

export function translated<T>(work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw translateError(error);
  });
}
