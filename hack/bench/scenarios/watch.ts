import { createObjects, newNames, type BenchRun } from '../bench-run.ts';
import { number } from '../report.ts';
import { pathOf, writtenModel } from '../sample-post.ts';
import type { WatchJob, WatchResult } from '../watch-load.ts';
import { Worker } from '../worker.ts';

const writesPerSecond = 20;
/** The quantiles of less than a hundred writes would say little. */
const shortestPaceSeconds = 5;
const fanOutWatchers = 100;
const fanOutWriters = 16;

/** How soon watchers hear of a write, and how many events the server hands out at most. */
export async function benchWatch(run: BenchRun): Promise<void> {
  const worker = new Worker<WatchJob, WatchResult>('watch-load.ts');
  try {
    for (const watchers of [1, 100, 500]) await pace(run, worker, watchers);
    await fanOut(run, worker);
  } finally {
    worker.stop();
  }
}

async function pace(run: BenchRun, worker: Worker<WatchJob, WatchResult>, watchers: number): Promise<void> {
  const { api, report, options } = run;
  const object = `${newNames()}-0`;
  await createObjects(run, writtenModel, [object]);
  const target = { port: api.port, authorization: api.authorization };
  await worker.run({ type: 'open', ...target, path: await watchPath(run), watchers });
  const job = { type: 'pace', ...target, model: writtenModel, object, writesPerSecond } as const;
  await worker.run({ ...job, seconds: 1 });
  const result = await worker.run({ ...job, seconds: Math.max(shortestPaceSeconds, options.seconds) });
  await worker.run({ type: 'close' });
  const scenario = `watch, ${watchers} watchers, ${writesPerSecond} writes/s`;
  report.figure(scenario, 'svc, acknowledgement to event', { rate: `${number(result.events / result.seconds)} events`, latency: `${number(result.p50)} / ${number(result.p99)}` });
  if (result.events !== result.expected) report.fail(`${scenario}: ${result.events} events came, ${result.expected} should have`);
}

async function fanOut(run: BenchRun, worker: Worker<WatchJob, WatchResult>): Promise<void> {
  const { api, loader, report, options } = run;
  const names = newNames();
  const objects = Array.from({ length: fanOutWriters }, (_, i) => `${names}-${i}`);
  await createObjects(run, writtenModel, objects);
  const target = { port: api.port, authorization: api.authorization };
  await worker.run({ type: 'open', ...target, path: await watchPath(run), watchers: fanOutWatchers });
  const processes = { server: api.pid, postmaster: api.postmaster };
  const plan = { type: 'update', model: writtenModel, objects } as const;
  const sample = await loader.run({ ...target, connections: fanOutWriters, plan, warmUpSeconds: 1, seconds: Math.max(shortestPaceSeconds, options.seconds), processes });
  const result = await worker.run({ type: 'count', untilRevision: await revisionOf(run), timeoutSeconds: 30 });
  await worker.run({ type: 'close' });
  const scenario = `watch, ${fanOutWatchers} watchers, full speed`;
  report.figure(scenario, `svc, ${fanOutWriters} writers`, { rate: `${number(result.events / result.seconds)} events` });
  report.figure('', 'the writes meanwhile', {
    rate: number(sample.requests / sample.seconds),
    latency: `${number(sample.p50)} / ${number(sample.p99)}`,
    cpu: [sample.cpu.server, sample.cpu.postgres, sample.cpu.loader].map((ms) => number(ms * 1000)).join(', '),
  });
  if (sample.errors > 0) report.fail(`${scenario}: ${sample.errors} errors, the first: ${sample.failure ?? ''}`);
  if (result.complete !== fanOutWatchers) report.fail(`${scenario}: ${fanOutWatchers - result.complete} watchers did not hear of everything`);
}

async function revisionOf({ api }: BenchRun): Promise<number> {
  const { metadata } = JSON.parse(await api.fetch(`${pathOf(writtenModel)}?limit=1`)) as { metadata: { resourceVersion: string } };
  return Number(metadata.resourceVersion);
}

async function watchPath(run: BenchRun): Promise<string> {
  return `${pathOf(writtenModel)}?watch=true&resourceVersion=${await revisionOf(run)}`;
}
