import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { pollUntil } from '../../testenv/faults/poll-until.ts';
import { Maintenance } from './maintenance.ts';

const limits = { minAgeMs: 600_000, maxSizeBytes: 1, idempotencyKeyAgeMs: 1 };

/** A store whose rounds end when the test ends them. */
class Rounds {
  readonly begun: { end: (error?: Error) => void }[] = [];
  readonly retentions: unknown[] = [];
  readonly audit = {
    maintain: ({ retentionDays }: { retentionDays?: number }): Promise<boolean> => {
      this.retentions.push(retentionDays);
      return Promise.resolve(true);
    },
  };

  compact(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.begun.push({ end: (error) => (error === undefined ? resolve() : reject(error)) });
    });
  }

  until(count: number): Promise<void> {
    return pollUntil(() => this.begun.length >= count);
  }
}

test('rounds run one at a time, also after a failure, and stop waits for the last', async () => {
  const store = new Rounds();
  const lines: string[] = [];
  const maintenance = new Maintenance({
    store,
    limits,
    auditRetentionDays: 3,
    log: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    everyMs: 1,
  });
  maintenance.start();
  maintenance.start();
  await store.until(1);
  store.begun[0]!.end(new Error('away'));
  await store.until(2);
  // Once an hour, not in each round.
  expect(store.retentions).toEqual([3]);
  expect(lines).toHaveLength(1);
  let isStopped = false;
  const stop = async (): Promise<void> => {
    await maintenance.stop();
    isStopped = true;
  };
  const stopped = stop();
  await new Promise(setImmediate);
  expect(isStopped).toBe(false);
  store.begun[1]!.end();
  await stopped;
  expect(store.begun).toHaveLength(2);
});

test('a stop before the first round prevents it', async () => {
  const store = new Rounds();
  const maintenance = new Maintenance({ store, limits, log: pino({ level: 'silent' }), everyMs: 3_600_000 });
  maintenance.start();
  await maintenance.stop();
  expect(store.begun).toHaveLength(0);
});
