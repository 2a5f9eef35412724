import { expect, test } from '@jest/globals';
import type { TestCluster } from './test-cluster.ts';
import type { Fault } from './fault.ts';
import { runFaults } from './fault-run.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { outcomeLine } from './report.ts';
import { retryWhileAway } from './fault-postgres.ts';
import { OperationLog } from '../harness/workload/operation-log.ts';

const lost = (): Error => new Error('Connection terminated unexpectedly');
const reset = (): Error => Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
const fault = (name: string, inject: Fault['inject']): Fault => ({ name, intent: '', holdMs: 0, inject });
const quiet = fault('quiet', () => Promise.resolve());

test.each<[string, Fault]>([
  ['when it begins', fault('cut', () => Promise.reject(reset()))],
  ['when it ends', fault('cut', () => Promise.resolve(() => Promise.reject(lost())))],
])(
  'a fault that loses its connection to the other one of a pair %s is cut short; alone it fails',
  async (_when, cut) => {
    const run = {
      cluster: {} as TestCluster,
      random: new SeededRandom(1),
      operationLog: new OperationLog(),
      records: [],
      normal: 0,
      began: 0,
    };
    const paired = await runFaults([cut, quiet], run);
    expect([paired.cutShort, paired.failures]).toEqual([[expect.stringMatching(/^cut: /)], []]);
    expect(outcomeLine(paired)).toContain('cut short cut: ');
    expect(await runFaults([cut], run)).toMatchObject({ cutShort: [], failures: [expect.stringMatching(/^cut: /)] });
    const wrong = fault('wrong', () => Promise.reject(new Error('it did not end as it should')));
    expect(await runFaults([wrong, quiet], run)).toMatchObject({
      cutShort: [],
      failures: ['wrong: it did not end as it should'],
    });
  },
);

const answered = (code: string): Error => Object.assign(new Error(`refused with ${code}`), { code, severity: 'ERROR' });

test.each(['XX001', '40001', '40P01', '53100', '55P03', '57014'])(
  'an error %s of PostgreSQL during a fault is a failure, in a pair too, and is not retried',
  async (code) => {
    const run = {
      cluster: {} as TestCluster,
      random: new SeededRandom(1),
      operationLog: new OperationLog(),
      records: [],
      normal: 0,
      began: 0,
    };
    const wrong = fault('wrong', () => Promise.reject(answered(code)));
    expect(await runFaults([wrong, quiet], run)).toMatchObject({
      cutShort: [],
      failures: [`wrong: refused with ${code}`],
    });
    let tries = 0;
    const work = (): Promise<void> => {
      tries += 1;
      return tries === 1 ? Promise.reject(answered(code)) : Promise.resolve();
    };
    await expect(retryWhileAway(60_000, work)).rejects.toMatchObject({ code });
  },
);

test('a query of a fault is retried while the database is unavailable, other failures are reported at once', async () => {
  const failures = [
    reset(),
    lost(),
    Object.assign(new Error('the database system is starting up'), { code: '57P03', severity: 'FATAL' }),
  ];
  const work = (): Promise<string> =>
    failures.length > 0 ? Promise.reject(failures.shift()!) : Promise.resolve('done');
  expect(await retryWhileAway(60_000, work)).toBe('done');
  await expect(retryWhileAway(60_000, () => Promise.reject(new Error('no such table')))).rejects.toThrow(
    'no such table',
  );
  await expect(retryWhileAway(0, () => Promise.reject(lost()))).rejects.toThrow('Connection terminated');
});
