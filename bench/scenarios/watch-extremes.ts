import { startServer } from '../server/bench-server.ts';
import { createObjects, newNames, targetOf, type BenchRun } from '../bench-run.ts';
import { forgetPeak, readMemory, readPeak } from '../../test/system/harness/process/process-usage.ts';
import { writtenModel } from '../sample-post.ts';
import type { Sample } from '../report/sample.ts';
import type { StallJob } from '../load/stalled-watchers.ts';
import { number } from '../../test/system/harness/run/table.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';
import { benchPace, paceSeconds, watchPath, writesPerSecond, type WatchWorker } from './watch.ts';

const otherWatchers = 10;
const stalledWatchers = 10;
/** Bytes of each event, so that even the kernel's buffers of about ten megabytes are full within seconds. */
const largeEvent = 200_000;
/** Enough to fill the buffers, and for the server to wait afterwards. */
const stallSeconds = 12;

/** Watchers of another replica, watchers that stop reading, and how often an event is encoded. */
export async function benchWatchExtremes(run: BenchRun): Promise<void> {
  const worker: WatchWorker = new WorkerProcess(new URL('../load/watch-load.ts', import.meta.url));
  const { database } = run;
  const replica = await startServer({ database, preload: new URL('../server/count-writes.mjs', import.meta.url) });
  try {
    const watchers = run.options.isQuick ? 10 : 100;
    await replica.process.ask('begin');
    await benchPace(run, worker, {
      watchers,
      on: replica,
      scenario: `watch, ${watchers} watchers of another replica, ${writesPerSecond} writes/s`,
    });
    reportEncoding(run, watchers, await replica.process.ask('end'));
    await benchStall(run, worker);
  } finally {
    worker.stop();
    await replica.stop();
  }
}

function reportEncoding(
  { report }: BenchRun,
  watchers: number,
  { writes, made }: { writes: number; made: number },
): void {
  report.figure({
    scenario: 'watch, events encoded',
    who: `svc, ${watchers} watchers`,
    note: `${writes} events written, ${made} different buffers made for them`,
  });
  report.goal({
    goal: 'an event is encoded once',
    wanted: `${watchers} watchers to a buffer`,
    measured: number(writes / made),
    met: writes / made > watchers * 0.95,
  });
}

/**
 * The same load without and with watchers that do not read: when they are disconnected, and whether others are
 * affected.
 */
async function benchStall(run: BenchRun, worker: WatchWorker): Promise<void> {
  const { api, report } = run;
  const scenario = `watch, ${otherWatchers} watchers, ${writesPerSecond} writes/s of ${largeEvent / 1000} kB`;
  const { sample: usual } = await paceLarge(run, worker, scenario);
  const stalled = new WorkerProcess<StallJob, number[]>(new URL('../load/stalled-watchers.ts', import.meta.url));
  try {
    forgetPeak(api.pid);
    const memory = readMemory({ server: api.pid }).server;
    const { sample, cutOff } = await paceLarge(run, worker, scenario, stalled);
    report.figure({ scenario, who: 'svc, all of them read', p50: usual.p50, p99: usual.p99, cpu: usual.cpu });
    const cut =
      cutOff.length === 0
        ? 'none was cut off'
        : `cut off after ${number(Math.min(...cutOff))} to ${number(Math.max(...cutOff))} s`;
    const note = `${cut}; server ${number(memory)} MB before, ${number(readPeak(api.pid))} MB at most`;
    report.figure({
      scenario,
      who: `svc, ${stalledWatchers} more do not read`,
      p50: sample.p50,
      p99: sample.p99,
      cpu: sample.cpu,
      note,
    });
    const measured = `${cutOff.length} of ${stalledWatchers}; ${number(usual.p99)} ms, then ${number(sample.p99)} ms`;
    const met = cutOff.length === stalledWatchers && sample.p99 < usual.p99 + 15;
    report.goal({
      goal: 'watchers that stop reading',
      wanted: 'are cut off, and add less than 15 ms to p99',
      measured,
      met,
    });
  } finally {
    stalled.stop();
  }
}

async function paceLarge(
  run: BenchRun,
  worker: WatchWorker,
  scenario: string,
  stalled?: WorkerProcess<StallJob, number[]>,
): Promise<{ sample: Sample; cutOff: number[] }> {
  const { api, report } = run;
  const object = `${newNames()}-0`;
  await createObjects(api, writtenModel, [object]);
  const target = targetOf(run, api);
  const path = await watchPath(api);
  await worker.run({ type: 'open', ...target, path, watchers: otherWatchers });
  await stalled?.run({ type: 'open', ...target, path, watchers: stalledWatchers });
  const seconds = stalled === undefined ? paceSeconds(run) : stallSeconds;
  const [{ sample, expected }, cutOff = []] = await Promise.all([
    worker.run({
      type: 'pace',
      ...target,
      model: writtenModel,
      object,
      attachment: largeEvent,
      writesPerSecond,
      seconds,
    }),
    stalled?.run({ type: 'wait', seconds }),
  ]);
  await worker.run({ type: 'close' });
  if (sample!.requests !== expected) report.fail(`${scenario}: ${sample!.requests} events arrived of ${expected}`);
  return { sample: sample!, cutOff };
}
