import { expect, test } from '@jest/globals';
import { isDatabaseAway, isWorthAnotherTry } from './database-away.ts';

const failure = (fields: object, message = 'x'): Error => Object.assign(new Error(message), fields);

test.each([
  ['a connection that is refused', failure({ code: 'ECONNREFUSED' })],
  ['a host that has no address at this moment', failure({ code: 'ENOTFOUND' })],
  ['a socket that is not there', failure({ code: 'ENOENT' })],
  ['a session that was ended', failure({ code: '57P01', severity: 'FATAL' })],
  ['too many connections', failure({ code: '53300', severity: 'FATAL' })],
  ['a statement over its time', failure({ code: '57014', severity: 'ERROR' })],
  ['a standby', failure({ code: '25006', severity: 'ERROR' })],
  ['a connection that broke', failure({}, 'Connection terminated unexpectedly')],
  ['a pool that is used up', failure({}, 'timeout exceeded when trying to connect')],
  ['a server that does not answer a new connection', failure({}, 'timeout expired')],
  ['an answer that did not come', failure({}, 'Query read timeout')],
])('%s', (_reason, error) => {
  expect(isDatabaseAway(error)).toBe(true);
});

test.each([
  ['a name that is taken', failure({ code: '23505', severity: 'ERROR' })],
  ['a table that is not there', failure({ code: '42P01', severity: 'ERROR' })],
  ['a fault of ours', new TypeError('x is undefined')],
  ['no error at all', 'ECONNREFUSED'],
])('not %s', (_reason, error) => {
  expect(isDatabaseAway(error)).toBe(false);
});

test.each([
  ['a server that is starting up', failure({ code: '57P03', severity: 'FATAL' }), true],
  ['a connection that is refused', failure({ code: 'ECONNREFUSED' }), true],
  ['a wrong password', failure({ code: '28P01', severity: 'FATAL' }), false],
  ['a database that does not exist', failure({ code: '3D000', severity: 'FATAL' }), false],
  ['a database that one may not connect to', failure({ code: '42501', severity: 'FATAL' }), false],
  ['a certificate of somebody else', failure({ code: 'SELF_SIGNED_CERT_IN_CHAIN' }), false],
])('another try after %s: %#', (_reason, error, expected) => {
  expect(isWorthAnotherTry(error)).toBe(expected);
});
