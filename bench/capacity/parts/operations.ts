import { defineModel } from '../../server/bench-server.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestPlan } from '../../load/request-plan.ts';
import { groupSize, modelOfSize, pathOf, writtenModel } from '../../sample-post.ts';
import { createObjects } from '../../bench-run.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import { load, type CapacityRun } from '../capacity-run.ts';

const size = 10_000;
const model = modelOfSize(size);

/** Processor time of each kind of request, in the server and in PostgreSQL, and the connections it needs. */
export async function measureOperations(run: CapacityRun): Promise<void> {
  const { api, database, options, report } = run;
  // A server that does not know the token yet limits the requests of an address.
  await api.fetch('/api');
  await delay(options.isQuick ? 0 : 5000);
  const connections: string[][] = [['when', 'connections to PostgreSQL', 'of them at work']];
  connections.push(await countConnections(run, 'at rest'));
  for (const each of [model, writtenModel]) await defineModel(api, each);
  const objects = options.isQuick ? 1000 : size;
  await load(run, { connections: 64, plan: { type: 'create', model, names: 'post' }, requests: objects });
  await database.query('VACUUM (ANALYZE)');
  const updated = Array.from({ length: 64 }, (_, i) => `updated-${i}`);
  await createObjects(api, writtenModel, updated);
  const path = pathOf(model);
  let series = 0;
  const plans: { name: string; plan: () => RequestPlan }[] = [
    {
      name: 'GET',
      plan: () => ({ type: 'get', paths: Array.from({ length: 100 }, (_, i) => `${path}/post-${i * 7}`) }),
    },
    {
      name: 'list of 20 by an index, with total',
      plan: () => ({
        type: 'get',
        paths: Array.from(
          { length: 50 },
          (_, i) => `${path}?labelSelector=batch%3Db-${i}&sort=spec.priority,desc&page=1&size=${groupSize}`,
        ),
      }),
    },
    { name: 'create', plan: () => ({ type: 'create', model: writtenModel, names: `s${(series += 1)}` }) },
    { name: 'update', plan: () => ({ type: 'update', model: writtenModel, objects: updated }) },
  ];
  const rows: string[][] = [
    ['request', 'at a time', 'requests/s', 'CPU µs, svc', 'CPU µs, PostgreSQL', 'CPU s for 1 000 requests, both'],
  ];
  for (const { name, plan } of plans) {
    for (const atATime of [64, 8, 1]) {
      const counted = delay(options.seconds * 500).then(() => countConnections(run, `${name}, ${atATime} at a time`));
      const { requests, seconds, cpu } = await load(run, { connections: atATime, plan: plan() });
      rows.push([
        name,
        String(atATime),
        number(requests / seconds),
        number(cpu.server * 1000),
        number(cpu.postgres * 1000),
        number(cpu.server + cpu.postgres),
      ]);
      if (atATime === 64) connections.push(await counted);
      else await counted;
    }
  }
  report.table('Processor time of a request', rows);
  report.table('Connections of one API server', connections);
}

async function countConnections({ database }: CapacityRun, when: string): Promise<string[]> {
  const [row] = await database.query(
    "SELECT count(*) AS all, count(*) FILTER (WHERE state <> 'idle') AS busy FROM pg_stat_activity WHERE application_name = 'svc' AND backend_type = 'client backend'",
  );
  return [when, String(row!['all']), String(row!['busy'])];
}
