import { expect, test } from '@jest/globals';
import { DatabaseError } from '#pkg/database/index';
import { StorageError } from '#pkg/storage/index';
import { OperatorError } from '../options/operator-error.ts';
import { explainListenFailure, explainStartFailure } from './start-failure.ts';

const systemError = (code: string, path?: string): Error =>
  Object.assign(new Error('secret detail'), { code, ...(path === undefined ? {} : { path }) });

const failures: { reason: string; error: unknown; sentence: string | undefined }[] = [
  { reason: 'an operator mistake', error: new OperatorError('Do this.'), sentence: 'Do this.' },
  { reason: 'a database failure', error: new DatabaseError('It is away.'), sentence: 'It is away.' },
  {
    reason: 'a table that a backup reads',
    error: new StorageError('TableInUse', 'of some model'),
    sentence: expect.stringMatching(
      /^A migration must change a table of the platform, .* start again when that transaction is over\.$/,
    ) as unknown as string,
  },
  {
    reason: 'a database that ends its sessions',
    error: Object.assign(new Error('terminating connection'), { code: '57P01', severity: 'FATAL' }),
    sentence:
      'The start failed: the database is shutting down or starting again (terminating connection). Start again when that is over.',
  },
  {
    reason: 'an unavailable database, as an error of the storage',
    error: new StorageError('Unavailable', 'x', { cause: systemError('ECONNRESET') }),
    sentence:
      'The start failed: the database does not answer at present (secret detail). Start again when that is over.',
  },
  {
    reason: 'another error of the storage is internal',
    error: new StorageError('Conflict', 'no'),
    sentence: undefined,
  },
  {
    reason: 'a file of another user',
    error: systemError('EACCES', '/data'),
    sentence: '/data cannot be used: this user may not use it (EACCES).',
  },
  {
    reason: 'a full disk',
    error: systemError('ENOSPC', '/data'),
    sentence: '/data cannot be used: the disk is full (ENOSPC).',
  },
  { reason: 'a missing file is an internal error', error: systemError('ENOENT', '/data'), sentence: undefined },
  { reason: 'a code without a path', error: systemError('EACCES'), sentence: undefined },
  { reason: 'another error', error: new TypeError('x is not a function'), sentence: undefined },
];
test.each(failures)('$reason', ({ error, sentence }) => {
  expect(explainStartFailure(error)).toEqual(sentence);
});

const listens: { code: string; says: RegExp }[] = [
  { code: 'EADDRINUSE', says: /^Port 80 on ::1 is in use/ },
  { code: 'EACCES', says: /^This user may not listen on port 80/ },
  { code: 'EADDRNOTAVAIL', says: /^::1 is not an address of this machine/ },
  { code: 'ENOTFOUND', says: /^The host name ::1 is unknown/ },
];
test.each(listens)('a listener that fails with $code', ({ code, says }) => {
  expect(
    explainStartFailure(
      explainListenFailure(
        systemError(code),
        { host: '::1', port: 80 },
        { host: 'svc.server.host', port: 'svc.server.port' },
      ),
    ),
  ).toMatch(says);
});

test('a listener that fails otherwise is not explained', () => {
  const error = systemError('EIO');
  expect(
    explainListenFailure(error, { host: '::1', port: 80 }, { host: 'svc.server.host', port: 'svc.server.port' }),
  ).toBe(error);
});
