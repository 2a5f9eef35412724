import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { AuditRecord } from '#pkg/audit/index';
import { StorageError } from '#pkg/storage/index';
import { AuditQueue } from './audit-queue.ts';
import { RefusalCounts } from './refusal-counts.ts';

const recordOf = (name: string, event = '{}'): AuditRecord => ({
  id: name,
  username: 'mia',
  verb: 'get',
  code: 200,
  resource: 'posts.blog.example.com',
  namespace: '',
  name,
  event,
});

/** A log that a test makes fail. */
class FailingLog {
  readonly rows: AuditRecord[] = [];
  isAway = false;

  append(records: readonly AuditRecord[]): Promise<void> {
    if (this.isAway) return Promise.reject(new Error('away'));
    this.rows.push(...records);
    return Promise.resolve();
  }
}

test('what could not be written is written later, in order', async () => {
  const log = new FailingLog();
  const lines: string[] = [];
  const queue = new AuditQueue({ log, logger: pino({}, { write: (line: string) => void lines.push(line) }) });
  log.isAway = true;
  for (let i = 0; i < 600; i += 1) queue.add(recordOf(`${i}`));
  await queue.stop();
  await queue.stop();
  expect([log.rows.length, queue.size, lines.length]).toEqual([0, 600, 1]);
  log.isAway = false;
  await queue.stop();
  expect(log.rows.map(({ name }) => name)).toEqual(Array.from({ length: 600 }, (_, i) => `${i}`));
  expect(queue.size).toBe(0);
});

test.each([
  { limit: 'records', record: recordOf('a'), kept: 10_000 },
  { limit: 'bytes', record: recordOf('a', 'x'.repeat(1024 * 1024)), kept: 16 },
])('above its limit of $limit it drops, and says how many in a row', async ({ record, kept }) => {
  const log = new FailingLog();
  let dropped = 0;
  const queue = new AuditQueue({
    log,
    logger: pino({ level: 'silent' }),
    onDropped: (count) => {
      dropped += count;
    },
  });
  for (let i = 0; i < kept + 7; i += 1) queue.add(record);
  await queue.stop();
  const notices = log.rows.filter(({ verb }) => verb === 'audit');
  expect([log.rows.length, notices.length, dropped]).toEqual([kept + 1, 1, 7]);
  expect(JSON.parse(notices[0]!.event)).toMatchObject({
    user: { username: 'system:apiserver' },
    annotations: { 'svc.run/count': '7' },
  });
  queue.add(record);
  await queue.stop();
  expect(log.rows).toHaveLength(kept + 2);
});

test('of more kinds of refusals than a thousand in a minute, the rest share a row', () => {
  const counts = new RefusalCounts({ perOwner: 2 });
  for (let i = 0; i < 1005; i += 1) counts.add(`user-${i}`, 'delete posts', () => recordOf(`${i}`));
  counts.add('user-0', 'delete posts', () => recordOf('other'));
  const records = counts.take();
  expect(records).toHaveLength(1001);
  expect(JSON.parse(records[0]!.event)).toMatchObject({ annotations: { 'svc.run/count': '2' } });
  expect(JSON.parse(records.at(-1)!.event)).toMatchObject({ annotations: { 'svc.run/count': '5' } });
  expect(counts.take()).toEqual([]);
});

test('one owner of many kinds has few rows, and those of others stay', () => {
  const counts = new RefusalCounts({ perOwner: 50 });
  for (let i = 0; i < 5000; i += 1) counts.add('eve', `create r${i}`, () => recordOf(`eve ${i}`));
  counts.add('eve', 'create r7', () => recordOf('again'));
  counts.add('mia', 'delete posts', () => recordOf('mia'));
  const records = counts.take().map(({ name, event }) => `${name}: ${JSON.parse(event).annotations['svc.run/count']}`);
  expect(records).toHaveLength(52);
  expect(records).toEqual(expect.arrayContaining(['eve 7: 2', 'eve 50: 4950', 'mia: 1']));
});

test('a refusal that is not kept takes no place', () => {
  const counts = new RefusalCounts({ perOwner: 1 });
  counts.add('mia', 'get posts', () => undefined);
  counts.add('mia', 'delete posts', () => recordOf('kept'));
  expect(counts.take().map(({ name }) => name)).toEqual(['kept']);
});

test('a record that the database does not take is dropped, and stops no other', async () => {
  const rows: string[] = [];
  let dropped = 0;
  const queue = new AuditQueue({
    log: {
      append: (records) => {
        if (records.some(({ name }) => name === 'poison')) return Promise.reject(new StorageError('InvalidKey', 'no'));
        rows.push(...records.map(({ name }) => name));
        return Promise.resolve();
      },
    },
    logger: pino({ level: 'silent' }),
    onDropped: (count) => {
      dropped += count;
    },
  });
  for (const name of ['a', 'poison', 'b']) queue.add(recordOf(name));
  await queue.stop();
  expect([rows, dropped, queue.size]).toEqual([['a', 'b'], 1, 0]);
});
