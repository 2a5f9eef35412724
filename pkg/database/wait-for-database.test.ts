import { expect, test } from '@jest/globals';
import { DatabaseError } from './database-error.ts';
import { silentLog } from './log.ts';
import { isDatabaseBusy, waitForDatabase } from './wait-for-database.ts';

const answered = (code: string): Error => Object.assign(new Error('no'), { code, severity: 'ERROR' });
const late = new Error('timeout expired');
const madeFrom = (cause: Error): Error => new DatabaseError('Schema x cannot be brought up to date.', { cause });

test.each<[reason: string, error: unknown, expected: boolean]>([
  ['a connection that was not answered in time', late, true],
  ['a migration that got no connection in time', madeFrom(late), true],
  ['a lock that was not released in time', answered('55P03'), true],
  ['a migration that has waited for a lock', madeFrom(answered('55P03')), false],
  ['no connection that is left', answered('53300'), true],
  ['a standby', madeFrom(answered('25006')), false],
  ['a right that is missing', madeFrom(answered('42501')), false],
  ['a full disk', answered('53100'), false],
  ['a mistake of the program', new TypeError('x is undefined'), false],
  ['what is no error', 'timeout expired', false],
])('whether the database is busy after %s', (_reason, error, expected) => {
  expect(isDatabaseBusy(error)).toBe(expected);
});

async function failing(
  errors: Error[],
  timeoutMs: number,
): Promise<{ outcome: unknown; said: object[]; tries: number }> {
  const said: object[] = [];
  let tries = 0;
  const work = async (): Promise<string> => {
    const error = errors[tries];
    tries += 1;
    if (error !== undefined) throw error;
    return 'done';
  };
  const log = { ...silentLog, warn: (details: object, message: string) => void said.push({ ...details, message }) };
  const outcome = await waitForDatabase(work, { timeoutMs, log, message: 'again' }).catch((error: unknown) => error);
  return { outcome, said, tries };
}

test('work is tried again while the database is busy, with one warning', async () => {
  expect(await failing([late, answered('55P03')], 600_000)).toEqual({
    outcome: 'done',
    said: [{ why: 'timeout expired', patienceMs: 600_000, message: 'again' }],
    tries: 3,
  });
});

test('work ends with its last error when the time is over, or the error stays', async () => {
  expect(await failing([late], 0)).toEqual({ outcome: late, said: [], tries: 1 });
  const refused = answered('42501');
  expect(await failing([late, refused], 600_000)).toMatchObject({ outcome: refused, tries: 2 });
});
