import type { ApiServer } from '../../test/system/harness/process/api-server.ts';
import { createObjects, newNames, targetOf, type BenchRun } from '../bench-run.ts';
import { boundGoal } from '../report/goals.ts';
import { pathOf, writtenModel } from '../sample-post.ts';
import { number } from '../../test/system/harness/run/table.ts';
import type { WatchJob, WatchResult } from '../load/watch-load.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';

export type WatchWorker = WorkerProcess<WatchJob, WatchResult>;

export const writesPerSecond = 20;
const fanOutWatchers = 100;
const fanOutWriters = 16;

/** How soon watchers get a write, and the maximum rate of events. */
export async function benchWatch(run: BenchRun): Promise<void> {
  const worker: WatchWorker = new WorkerProcess(new URL('../load/watch-load.ts', import.meta.url));
  try {
    for (const watchers of run.options.isQuick ? [1, 50] : [1, 100, 500, 1000]) {
      const p99 = await benchPace(run, worker, {
        watchers,
        on: run.api,
        scenario: `watch, ${watchers} watchers, ${writesPerSecond} writes/s`,
      });
      if (watchers === 500)
        boundGoal(run.report, 'watch, acknowledgement to event, 500 watchers, p99', {
          value: p99,
          under: 15,
          unit: 'ms',
        });
    }
    await benchFanOut(run, worker);
  } finally {
    worker.stop();
  }
}

/** Watchers of one server, which may differ from the one that gets the writes; returns p99. */
export async function benchPace(
  run: BenchRun,
  worker: WatchWorker,
  { watchers, on, scenario }: { watchers: number; on: ApiServer; scenario: string },
): Promise<number> {
  const { api, report } = run;
  const object = `${newNames()}-0`;
  await createObjects(api, writtenModel, [object]);
  await worker.run({
    type: 'open',
    port: on.port,
    authorization: on.authorization,
    path: await watchPath(api),
    watchers,
  });
  const job = { type: 'pace', ...targetOf(run, api), model: writtenModel, object, writesPerSecond } as const;
  await worker.run({ ...job, seconds: run.options.warmUpSeconds });
  const { sample, expected } = await worker.run({
    ...job,
    processes: targetOf(run, on).processes,
    seconds: paceSeconds(run),
  });
  await worker.run({ type: 'close' });
  const { requests, seconds, p50, p99, cpu } = sample!;
  report.figure({
    scenario,
    who: 'svc, acknowledgement to event',
    perSecond: requests / seconds,
    unit: 'events',
    p50,
    p99,
    cpu,
  });
  if (requests !== expected) report.fail(`${scenario}: ${requests} events arrived of ${expected}`);
  return p99;
}

/** The quantiles of fewer than a hundred writes mean little. */
export function paceSeconds({ options }: Pick<BenchRun, 'options'>): number {
  return options.isQuick ? 1 : Math.max(5, options.seconds);
}

async function benchFanOut(run: BenchRun, worker: WatchWorker): Promise<void> {
  const { api, loader, report } = run;
  const names = newNames();
  const objects = Array.from({ length: fanOutWriters }, (_, i) => `${names}-${i}`);
  await createObjects(api, writtenModel, objects);
  const target = targetOf(run, api);
  await worker.run({ type: 'open', ...target, path: await watchPath(api), watchers: fanOutWatchers });
  const plan = { type: 'update', model: writtenModel, objects } as const;
  const sample = await loader.run({
    ...target,
    connections: fanOutWriters,
    plan,
    warmUpSeconds: run.options.warmUpSeconds,
    seconds: paceSeconds(run),
  });
  const result = await worker.run({ type: 'count', untilRevision: await revisionOf(api), timeoutSeconds: 30 });
  await worker.run({ type: 'close' });
  const scenario = `watch, ${fanOutWatchers} watchers, full speed`;
  const rate = result.events / result.seconds;
  const cpuOfEvent = (sample.cpu.server * 1000) / fanOutWatchers;
  report.figure({
    scenario,
    who: `svc, ${fanOutWriters} writers`,
    perSecond: rate,
    unit: 'events',
    note: `${number(cpuOfEvent)} µs of the server an event, the write's share in it`,
  });
  report.figure({
    scenario,
    who: 'the writes meanwhile',
    perSecond: sample.requests / sample.seconds,
    p50: sample.p50,
    p99: sample.p99,
    cpu: sample.cpu,
  });
  report.goal({
    goal: scenario,
    wanted: 'at least 100 000 events/s',
    measured: `${number(rate)} events/s`,
    met: rate >= 100_000,
  });
  if (sample.errors > 0) report.fail(`${scenario}: ${sample.errors} errors, the first: ${sample.failure ?? ''}`);
  if (result.complete !== fanOutWatchers)
    report.fail(`${scenario}: ${fanOutWatchers - result.complete} watchers did not receive every event`);
}

async function revisionOf(api: ApiServer): Promise<number> {
  const { metadata } = JSON.parse(await api.fetch(`${pathOf(writtenModel)}?limit=1`)) as {
    metadata: { resourceVersion: string };
  };
  return Number(metadata.resourceVersion);
}

/** Starts at the current revision. */
export async function watchPath(api: ApiServer): Promise<string> {
  return `${pathOf(writtenModel)}?watch=true&resourceVersion=${await revisionOf(api)}`;
}
