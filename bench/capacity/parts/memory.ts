import { defineModel, startServer } from '../../server/bench-server.ts';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/system/harness/process/free-port.ts';
import { inParallel } from '../../controllers/in-parallel.ts';
import { forgetPeak, readMemory, readPeak } from '../../../test/system/harness/process/process-usage.ts';
import { pathOf, writtenModel } from '../../sample-post.ts';
import { watchPath } from '../../scenarios/watch.ts';
import { number } from '../../../test/system/harness/run/table.ts';
import type { WatchJob, WatchResult } from '../../load/watch-load.ts';
import { WorkerProcess } from '../../../test/system/harness/process/worker-process.ts';
import { load, type CapacityRun } from '../capacity-run.ts';
import { ServerProcess } from '../../../test/system/harness/process/server-process.ts';

/** Resident memory of each process at rest and under load, and what a watcher and a model add to it. */
export async function measureMemory(run: CapacityRun): Promise<void> {
  const { api, database, options, report } = run;
  const restMs = options.isQuick ? 500 : 10_000;
  const rows: string[][] = [['process', 'when', 'MB resident']];
  const resident = (pid: number): number => readMemory({ server: pid }).server;
  await defineModel(api, writtenModel);
  await delay(restMs);
  rows.push(['apiserver', 'at rest', number(resident(api.pid))]);
  for (const { name, server } of await startOthers(run)) {
    await delay(restMs);
    rows.push([name, 'at rest', number(resident(server.pid))]);
    await server.stop();
  }
  forgetPeak(api.pid);
  await load(run, { connections: 64, plan: { type: 'create', model: writtenModel, names: 'post' } });
  await load(run, { connections: 64, plan: { type: 'get', paths: [`${pathOf(writtenModel)}/post-0`] } });
  await load(run, { connections: 16, plan: { type: 'get', paths: [`${pathOf(writtenModel)}?limit=500`] } });
  rows.push([
    'apiserver',
    'at most, under 64 creates, 64 GETs and 16 lists of 500 at a time',
    number(readPeak(api.pid)),
  ]);
  rows.push(['apiserver', 'ten seconds later', await after(restMs, () => number(resident(api.pid)))]);

  rows.push(...(await measureWatchers(run, restMs)), ...(await measureModels(run, restMs)));
  report.table('Memory', rows);
  const { postgres } = readMemory({ postmaster: database.postmaster });
  const [buffers] = await database.query(
    "SELECT current_setting('shared_buffers') AS size, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS clients",
  );
  report.line(
    `\nPostgreSQL: ${number(postgres)} MB in all, with ${String(buffers!['clients'])} connections and shared_buffers ${String(buffers!['size'])}`,
  );
}

async function after<T>(ms: number, look: () => T): Promise<T> {
  await delay(ms);
  return look();
}

/** Starts the processes without objects, one by one. */
async function startOthers({ api, database }: CapacityRun): Promise<{ name: string; server: ServerProcess }[]> {
  const [accessPort, controllerPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${api.port}`;
  const token = join(api.dataDir, 'admin-token');
  const parent = database.folder;
  const access = [
    `--svc.database.url=${database.url()}`,
    `--svc.access.port=${accessPort}`,
    `--svc.access.api-url=${url}`,
    `--svc.access.token-file=${token}`,
    `--svc.security.key-file=${join(api.dataDir, 'secret-key')}`,
  ];
  const controllers = [
    `--svc.controllers.port=${controllerPort}`,
    `--svc.controllers.api-url=${url}`,
    `--svc.controllers.token-file=${token}`,
  ];
  const start = async (
    name: string,
    args: string[],
    port: number,
  ): Promise<{ name: string; server: ServerProcess }> => {
    const folder = await mkdtemp(join(parent, 'server-'));
    const own = [`--svc.data.dir=${folder}`, ...args];
    const readyUrl = `http://127.0.0.1:${port}/readyz`;
    return { name, server: await ServerProcess.start({ command: name, args: own, folder, readyUrl }) };
  };
  return [
    await start('access-server', access, accessPort),
    await start('controller-manager', controllers, controllerPort),
  ];
}

/** On a fresh server, so that previously freed memory does not hide their use. */
async function measureWatchers({ database, options }: CapacityRun, restMs: number): Promise<string[][]> {
  // Each batch connects before the next one: together they would exceed the limit of concurrent requests per user.
  const batchSize = 100;
  const batches = options.isQuick ? 1 : 5;
  const api = await startServer({ database });
  const loaders: WorkerProcess<WatchJob, WatchResult>[] = [];
  try {
    const path = await watchPath(api);
    await delay(restMs);
    const before = readMemory({ server: api.pid }).server;
    for (let i = 0; i < batches; i += 1) {
      const loader = new WorkerProcess<WatchJob, WatchResult>(new URL('../../load/watch-load.ts', import.meta.url));
      loaders.push(loader);
      await loader.run({ type: 'open', port: api.port, authorization: api.authorization, path, watchers: batchSize });
    }
    await delay(restMs);
    const grown = readMemory({ server: api.pid }).server - before;
    return [
      ['apiserver', `${batches * batchSize} watchers more: KB each`, number((grown * 1024) / (batches * batchSize))],
    ];
  } finally {
    for (const loader of loaders) loader.stop();
    await api.stop();
  }
}

/** Compares fresh servers before and after the models were defined. */
async function measureModels({ api, database, options }: CapacityRun, restMs: number): Promise<string[][]> {
  const models = options.isQuick ? 10 : 100;
  const ofFresh = async (): Promise<number> => {
    const fresh = await startServer({ database });
    await delay(restMs);
    const { server } = readMemory({ server: fresh.pid });
    await fresh.stop();
    return server;
  };
  const before = await ofFresh();
  await inParallel(4, models, (i) => defineModel(api, { plural: `memories-${i}`, kind: `Memory${i}` }));
  return [
    [
      'apiserver',
      `${models} models more, after a start: KB each`,
      number((((await ofFresh()) - before) * 1024) / models),
    ],
  ];
}
