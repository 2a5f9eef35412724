import { describe, expect, test } from '@jest/globals';
import { StorageError, type StorageErrorCode } from '../../storage-error.ts';
import { translateError } from './translate-error.ts';

/** An error like those of `pg`. */
function databaseError(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error(`about ${code}`), { code, severity });
}

function systemError(code: string): Error {
  return Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });
}

describe('an error of the database', () => {
  test.each<[string, Error, StorageErrorCode]>([
    ['disk full', databaseError('53100'), 'Unavailable'],
    ['out of memory', databaseError('53200'), 'Unavailable'],
    ['too many connections', databaseError('53300', 'FATAL'), 'Unavailable'],
    ['a limit of its configuration', databaseError('53400'), 'Unavailable'],
    ['a session that was ended', databaseError('57P01', 'FATAL'), 'Unavailable'],
    ['a crash of another session', databaseError('57P02', 'WARNING'), 'Unavailable'],
    ['a server that is starting or recovering', databaseError('57P03', 'FATAL'), 'Unavailable'],
    ['a session that was idle for too long', databaseError('57P05', 'FATAL'), 'Unavailable'],
    ['a transaction that was idle for too long', databaseError('25P03', 'FATAL'), 'Unavailable'],
    ['a standby', databaseError('25006'), 'Unavailable'],
    ['a standby that removed rows', databaseError('40001'), 'Unavailable'],
    ['a deadlock', databaseError('40P01'), 'Unavailable'],
    ['a lock time-out', databaseError('55P03'), 'Unavailable'],
    ['a database that accepts no connections', databaseError('55000', 'FATAL'), 'Unavailable'],
    ['a revoked privilege', databaseError('42501'), 'Unavailable'],
    ['a disk that fails', databaseError('58030'), 'Unavailable'],
    ['an error of the server', databaseError('XX000'), 'Unavailable'],
    ['a password that was changed', databaseError('28P01', 'FATAL'), 'Unavailable'],
    ['a statement time-out', databaseError('57014'), 'Timeout'],
    ['a value that cannot be stored', databaseError('22021'), 'InvalidKey'],
    ['a value too large for an index', databaseError('54000'), 'InvalidKey'],
    ['a table that was dropped', databaseError('42P01'), 'ModelNotFound'],
    ['a refused connection', systemError('ECONNREFUSED'), 'Unavailable'],
    ['a reset connection', systemError('ECONNRESET'), 'Unavailable'],
    ['a missing socket', systemError('ENOENT'), 'Unavailable'],
    ['a lost connection', new Error('Connection terminated unexpectedly'), 'Unavailable'],
    ['a missing answer', new Error('Query read timeout'), 'Unavailable'],
    ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), 'Unavailable'],
    ['a pool that was closed', new Error('Cannot use a pool after calling end on the pool'), 'Unavailable'],
  ])('%s', (_, error, code) => {
    const translated = translateError(error);
    expect(translated).toBeInstanceOf(StorageError);
    expect(translated).toMatchObject({ code, cause: error });
  });

  test.each<[string, Error, string]>([
    ['disk full', databaseError('53100'), 'the disk of the database is full'],
    ['a standby', databaseError('25006'), 'the database is read only'],
    ['a server that is starting', databaseError('57P03', 'FATAL'), 'the database is starting up'],
    [
      'transaction ids that have run out',
      Object.assign(databaseError('54000'), { routine: 'GetNewTransactionId' }),
      'the database has no transaction ids left until it is vacuumed',
    ],
    ['a revoked privilege', databaseError('42501'), 'the database refused to do this'],
    ['a foreign trigger', databaseError('P0001'), 'a trigger in the database, which is not of svc, refused to do this'],
    ['a refused connection', systemError('ECONNREFUSED'), 'the database does not answer at present'],
  ])("%s has the message of its name, without PostgreSQL's text", (_, error, message) => {
    expect(translateError(error)).toMatchObject({ code: 'Unavailable', message });
  });

  test.each([
    new TypeError('ours'),
    new RangeError('ours'),
    new StorageError('Conflict', 'told already'),
    new DOMException('aborted', 'AbortError'),
    databaseError('25P01'),
    databaseError('25P02'),
  ])('%s is not one', (error) => {
    expect(translateError(error)).toBe(error);
  });
});
