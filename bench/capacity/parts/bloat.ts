import { setTimeout as delay } from 'node:timers/promises';
import { inParallel } from '../../controllers/in-parallel.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import type { CapacityRun } from '../capacity-run.ts';
import { posts } from '../sample-objects.ts';
import { tableOf, tableSizes } from '../table-sizes.ts';
import { define } from './disk.ts';

const rounds = 10;
const statisticsTimeoutMs = 30_000;

/** The space that many updates leave in a table, before and after a vacuum: of statuses, and of an indexed field. */
export async function measureBloat({ api, database, options, report }: CapacityRun): Promise<void> {
  for (const text of ['ALTER SYSTEM SET autovacuum = off', 'SELECT pg_reload_conf()']) await database.query(text);
  const sample = posts(1);
  await define(api, sample);
  const { table } = await tableOf(database, sample.plural);
  const count = options.samples;
  await inParallel(16, count, (i) =>
    api.fetch(sample.path, { method: 'POST', body: JSON.stringify(sample.object(i, 0)) }),
  );
  let updates = 0;
  const status =
    (round: number) =>
    (i: number): Promise<string> =>
      patch(`/post-${i}/status`, sample.status(round));
  const indexed =
    (round: number) =>
    (i: number): Promise<string> =>
      patch(`/post-${i}`, { spec: { priority: (i * 31 + round) % 1000 } });
  const patch = (path: string, body: object): Promise<string> =>
    api.fetch(`${sample.path}${path}`, {
      method: 'PATCH',
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: JSON.stringify(body),
    });

  const rows: string[][] = [
    ['after', 'table, bytes a row', 'all indexes, bytes a row', 'dead rows', 'updates that touched no index (HOT)'],
  ];
  const look = async (when: string): Promise<void> => {
    const { heap, indexes } = await tableSizes(database, sample.plural);
    const { dead, hot } = await settledStatistics(table, updates);
    rows.push([
      when,
      number(heap / count),
      number(indexes.reduce((sum, { bytes }) => sum + bytes, 0) / count),
      number(dead),
      updates === 0 ? '' : `${number((hot * 100) / updates)} %`,
    ]);
  };
  /** Waits until PostgreSQL reports every update, about a second later. */
  const settledStatistics = async (name: string, expected: number): Promise<{ dead: number; hot: number }> => {
    for (const deadline = performance.now() + statisticsTimeoutMs; ;) {
      const [row] = await database.query(
        `SELECT n_tup_upd AS updated, n_tup_hot_upd AS hot, n_dead_tup AS dead FROM pg_stat_user_tables WHERE relid = '${name}'::regclass`,
      );
      if (Number(row!['updated']) >= expected) return { dead: Number(row!['dead']), hot: Number(row!['hot']) };
      if (performance.now() > deadline)
        throw new Error(`PostgreSQL counted ${String(row!['updated'])} updates of ${expected}`);
      await delay(100);
    }
  };
  const repeat = async (write: (round: number) => (i: number) => Promise<string>): Promise<void> => {
    for (let round = 1; round <= rounds; round += 1) {
      await inParallel(16, count, write(round));
      updates += count;
    }
  };
  await look(`${count} creates`);
  await repeat(status);
  await look(`${rounds} status updates of each`);
  await database.query(`VACUUM ${table}`);
  await look('a vacuum');
  await repeat(indexed);
  await look(`${rounds} updates of an indexed field of each`);
  await database.query(`VACUUM ${table}`);
  await look('a vacuum');
  await repeat(indexed);
  await look(`${rounds} more of them`);
  report.table('What updates leave behind, without autovacuum in between', rows);
}
