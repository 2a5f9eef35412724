import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { AuditRecord } from '#pkg/audit/index';
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
  const counts = new RefusalCounts();
  for (let i = 0; i < 1005; i += 1) counts.add(`403 user-${i}`, () => recordOf(`${i}`));
  counts.add('403 user-0', () => recordOf('other'));
  const records = counts.take();
  expect(records).toHaveLength(1001);
  expect(JSON.parse(records.at(-1)!.event)).toMatchObject({ annotations: { 'svc.run/count': '5' } });
  expect(counts.take()).toEqual([]);
});
