import { expect, test } from '@jest/globals';
import {
  failureSuffix,
  databaseFailure,
  databaseFailures,
  failureSentence,
  isDatabaseUnreachable,
  isTransientConnectFailure,
  isConnectionUsable,
} from './database-failure.ts';

const failure = (fields: object, message = 'at host=10.0.0.1 in SELECT secret'): Error =>
  Object.assign(new Error(message), fields);
const answered = (code: string, severity = 'ERROR', routine = 'exec'): Error => failure({ code, severity, routine });

test.each([
  ['a connection that is refused', failure({ code: 'ECONNREFUSED' }), 'connection_lost'],
  ['a host without an address at the moment', failure({ code: 'ENOTFOUND' }), 'connection_lost'],
  ['a missing socket', failure({ code: 'ENOENT' }), 'connection_lost'],
  ['a connection that broke', failure({}, 'Connection terminated unexpectedly'), 'connection_lost'],
  ['a connection that PostgreSQL reports as broken', answered('08006'), 'connection_lost'],
  ['a session that was idle for too long', answered('57P05', 'FATAL'), 'connection_lost'],
  ['a transaction that was idle for too long', answered('25P03', 'FATAL'), 'connection_lost'],
  ['a transaction that took too long', answered('25P04', 'FATAL'), 'connection_lost'],
  ['a database that was dropped', answered('57P04', 'FATAL'), 'connection_lost'],
  ['an exhausted pool', failure({}, 'timeout exceeded when trying to connect'), 'no_answer'],
  ['a server that does not answer a new connection', failure({}, 'timeout expired'), 'no_answer'],
  ['a missing answer', failure({}, 'Query read timeout'), 'no_answer'],
  ['a session that was ended', answered('57P01', 'FATAL'), 'shutting_down'],
  ['a server that crashed', answered('57P02', 'WARNING'), 'shutting_down'],
  ['a server that starts', answered('57P03', 'FATAL'), 'starting_up'],
  ['a full disk', answered('53100'), 'disk_full'],
  ['a full disk of the WAL', answered('53100', 'PANIC'), 'disk_full'],
  ['a disk that fails', answered('58030'), 'disk_failing'],
  ['damaged data', answered('XX001'), 'data_corrupted'],
  ['no memory', answered('53200'), 'out_of_memory'],
  ['too many connections', answered('53300', 'FATAL'), 'too_many_connections'],
  ['a limit of the configuration', answered('53400'), 'resource_limit'],
  ['a standby', answered('25006'), 'read_only'],
  ['a serialization failure', answered('40001'), 'transaction_conflict'],
  ['a deadlock', answered('40P01'), 'transaction_conflict'],
  ['a lock time-out', answered('55P03'), 'lock_timeout'],
  ['a statement time-out', answered('57014'), 'statement_timeout'],
  ['transaction ids that have run out', answered('54000', 'ERROR', 'GetNewTransactionId'), 'no_transaction_ids'],
  ['a database that accepts no connections', answered('55000', 'FATAL'), 'connection_refused'],
  ['a wrong password', answered('28P01', 'FATAL'), 'connection_refused'],
])('%s has a name', (_reason, error, expected) => {
  expect(databaseFailure(error)).toBe(expected);
});

test.each([
  ['an existing name', answered('23505')],
  ['a missing table', answered('42P01')],
  ['a statement outside a transaction that it needs', answered('25P01')],
  ['a statement in a transaction that has failed', answered('25P02')],
  ['a value that is too large for an index', answered('54000', 'ERROR', '_bt_check_third_page')],
  ['an error of our code', new TypeError('x is undefined')],
  ['an error of another library with such a code', failure({ code: '53100' })],
  ['no error at all', 'ECONNREFUSED'],
])('%s is not a failure of the database', (_reason, error) => {
  expect(databaseFailure(error)).toBeUndefined();
  expect(failureSuffix(error)).toBe('');
});

test('names are valid label values, and each has its own sentence, without text of the error', () => {
  for (const name of databaseFailures) expect(name).toMatch(/^[a-z_]+$/);
  expect(new Set(databaseFailures.map(failureSentence)).size).toBe(databaseFailures.length);
  expect(failureSuffix(answered('53100'))).toBe(': the disk of the database is full');
});

test.each([
  ['a connection that broke', failure({}, 'Connection terminated unexpectedly'), true, false],
  ['a missing answer', failure({}, 'Query read timeout'), true, false],
  ['a session that was ended', answered('57P01', 'FATAL'), true, false],
  ['a server that is starting up', answered('57P03', 'FATAL'), true, false],
  ['a database that accepts no connections', answered('55000', 'FATAL'), false, false],
  ['a full disk of the WAL', answered('53100', 'PANIC'), false, false],
  ['a full disk', answered('53100'), false, true],
  ['damaged data', answered('XX001'), false, true],
  ['a serialization failure', answered('40001'), false, true],
  ['a lock time-out', answered('55P03'), false, true],
  ['a statement time-out', answered('57014'), false, true],
  ['an existing name', answered('23505'), false, true],
  ['an error of our code', new TypeError('x is undefined'), false, true],
])('%s: whether the database is away, and whether the connection is kept', (_reason, error, isAway, isKept) => {
  expect([isDatabaseUnreachable(error), isConnectionUsable(error)]).toEqual([isAway, isKept]);
});

test.each([
  ['a server that is starting up', answered('57P03', 'FATAL'), true],
  ['a full disk', answered('53100', 'FATAL'), true],
  ['too many connections', answered('53300', 'FATAL'), true],
  ['a connection that is refused', failure({ code: 'ECONNREFUSED' }), true],
  ['a wrong password', answered('28P01', 'FATAL'), false],
  ['a database that does not exist', answered('3D000', 'FATAL'), false],
  ['a database without the CONNECT privilege', answered('42501', 'FATAL'), false],
  ['a certificate of another host', failure({ code: 'SELF_SIGNED_CERT_IN_CHAIN' }), false],
])('whether to retry after %s: %#', (_reason, error, expected) => {
  expect(isTransientConnectFailure(error)).toBe(expected);
});
