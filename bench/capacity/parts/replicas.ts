import { defineModel, startServer } from '../../server/bench-server.ts';
import type { ApiServer } from '../../../test/system/harness/process/api-server.ts';
import type { LoadJob } from '../../load/load.ts';
import { writtenModel } from '../../sample-post.ts';
import type { Sample } from '../../report/sample.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import { WorkerProcess } from '../../../test/system/harness/process/worker-process.ts';
import type { CapacityRun } from '../capacity-run.ts';

/** In total; divided among the servers. */
const writers = 96;
/** Extra microseconds of each commit, as with a slow disk or a distant synchronous standby. */
const commitDelays = [0, 1000, 3000];

interface Writing {
  perSecond: number;
  batchesPerSecond: number;
  perBatch: number;
  p50: number;
  p99: number;
}

/** The lock that orders revisions: what several servers share, and what each commit costs all of them. */
export async function measureReplicas(run: CapacityRun): Promise<void> {
  const { api, database, report, options } = run;
  await defineModel(api, writtenModel);
  const servers = [api];
  const rows: string[][] = [
    ['API servers', 'commit takes longer by', 'creates/s', 'batches/s', 'creates a batch', 'p50 / p99 ms'],
  ];
  try {
    for (const count of [1, 2, 3]) {
      if (servers.length < count) servers.push(await startServer({ database }));
      for (const microseconds of options.isQuick ? [0] : commitDelays) {
        await setCommitDelay(run, microseconds);
        const found = await write(run, servers);
        rows.push([
          String(count),
          `${microseconds / 1000} ms`,
          number(found.perSecond),
          number(found.batchesPerSecond),
          number(found.perBatch),
          `${number(found.p50)} / ${number(found.p99)}`,
        ]);
      }
      await setCommitDelay(run, 0);
    }
  } finally {
    for (const server of servers.slice(1)) await server.stop();
  }
  report.table(`Creates through one lock, ${writers} at a time in all`, rows);
}

async function setCommitDelay({ database }: CapacityRun, microseconds: number): Promise<void> {
  // For every commit, even without other active sessions.
  for (const text of [
    'ALTER SYSTEM SET commit_siblings = 0',
    `ALTER SYSTEM SET commit_delay = ${microseconds}`,
    'SELECT pg_reload_conf()',
  ])
    await database.query(text);
}

let series = 0;

async function write({ database, options }: CapacityRun, servers: readonly ApiServer[]): Promise<Writing> {
  const loaders = servers.map(() => new WorkerProcess<LoadJob, Sample>(new URL('../../load/load.ts', import.meta.url)));
  try {
    // A server that does not know the token yet limits the requests of an address.
    for (const server of servers) await server.fetch('/api');
    const [newest] = await database.query('SELECT max(rev) AS rev FROM platform.change_log');
    const samples = await Promise.all(servers.map((server, i) => loaders[i]!.run(jobFor(server))));
    const failure = samples.find(({ errors }) => errors > 0)?.failure;
    if (failure !== undefined) throw new Error(failure);
    const [counted] = await database.query(
      `SELECT count(DISTINCT batch) AS batches, count(*) AS writes FROM platform.change_log WHERE rev > ${String(newest!['rev'])}`,
    );
    const perSecond = samples.reduce((sum, { requests, seconds }) => sum + requests / seconds, 0);
    const perBatch = Number(counted!['writes']) / Number(counted!['batches']);
    return {
      perSecond,
      perBatch,
      batchesPerSecond: perSecond / perBatch,
      p50: Math.max(...samples.map(({ p50 }) => p50)),
      p99: Math.max(...samples.map(({ p99 }) => p99)),
    };
  } finally {
    for (const loader of loaders) loader.stop();
  }

  function jobFor(server: ApiServer): LoadJob {
    series += 1;
    return {
      port: server.port,
      authorization: server.authorization,
      connections: Math.round(writers / servers.length),
      plan: { type: 'create', model: writtenModel, names: `w${series}` },
      warmUpSeconds: options.isQuick ? 0.1 : 1,
      seconds: options.seconds,
      processes: {},
    };
  }
}
