import { startServer } from '../server/bench-server.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { targetOf, type BenchRun } from '../bench-run.ts';
import { boundGoal } from '../report/goals.ts';
import { forgetPeak, readMemory, readPeak } from '../../test/system/harness/process/process-usage.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { groupSize, modelOfSize, pathOf } from '../sample-post.ts';
import { number } from '../../test/system/harness/run/table.ts';
import { readAsStream, readInChunks } from '../load/whole-list.ts';

const restMs = 3000;
const connections = 16;
/** Memory counts as flat up to this ratio of the most to the fewest objects. */
const flatShare = 1.5;

interface Held {
  atRest: number;
  peak: number;
}

/** The memory of the run's own server and its PostgreSQL now. */
export async function reportMemory({ api, database, report, options }: BenchRun, when: string): Promise<void> {
  await delay(options.isQuick ? 0 : restMs);
  const { server, postgres } = readMemory({ server: api.pid, postmaster: database.postmaster });
  report.figure({
    scenario: `memory, ${when}`,
    who: 'svc',
    note: `server ${number(server)} MB, PostgreSQL ${number(postgres)} MB`,
  });
}

/**
 * Fresh servers that only read, one for each size and with the same number of reads: whether they need more memory with
 * more objects.
 */
export async function benchMemory(run: BenchRun): Promise<void> {
  const held: Held[] = [];
  for (const objects of run.options.sizes) held.push(await benchSize(run, objects));
  const [fewest, most] = [held[0]!, held.at(-1)!];
  boundGoal(run.report, 'memory at rest', {
    value: Math.max(...held.map(({ atRest }) => atRest)),
    under: 150,
    unit: 'MB',
  });
  const share = most.peak / fewest.peak;
  const sizes = `${run.options.sizes[0]} to ${run.options.sizes.at(-1)} objects`;
  run.report.goal({
    goal: `memory, flat from ${sizes}`,
    wanted: `at most ${flatShare} times, at its peak`,
    measured: `${share.toFixed(2)}: ${number(fewest.peak)} MB, ${number(most.peak)} MB`,
    met: share <= flatShare,
  });
}

async function benchSize(run: BenchRun, objects: number): Promise<Held> {
  const { database, report, loader, options } = run;
  const api = await startServer({ database });
  try {
    await delay(options.isQuick ? 0 : restMs);
    const atRest = readMemory({ server: api.pid }).server;
    forgetPeak(api.pid);
    const path = pathOf(modelOfSize(objects));
    const target = targetOf(run, api);
    const plans: RequestPlan[] = [
      { type: 'get', paths: Array.from({ length: 1000 }, (_, i) => `${path}/post-${i}`) },
      {
        type: 'get',
        paths: Array.from(
          { length: 50 },
          (_, i) => `${path}?labelSelector=batch%3Db-${i}&sort=spec.priority&page=1&size=${groupSize}`,
        ),
      },
    ];
    for (const plan of plans)
      await loader.run({ ...target, connections, plan, warmUpSeconds: 0, seconds: options.seconds });
    for (let read = 0; read < options.sizes.at(-1)!; read += objects) {
      await readInChunks(api, path, { limit: 500, processes: target.processes });
      await readAsStream(api, path, target);
    }
    const after = readMemory({ server: api.pid }).server;
    const peak = readPeak(api.pid);
    const note = `server ${number(atRest)} MB at rest, ${number(peak)} MB at most, ${number(after)} MB after GETs, lists, and lists of everything`;
    report.figure({ scenario: 'memory of a fresh svc apiserver', who: `${objects} objects`, note });
    return { atRest, peak };
  } finally {
    await api.stop();
  }
}
