import { newNames, targetOf, type BenchRun } from '../bench-run.ts';
import type { OpenLoadJob, OpenLoadResult } from '../load/open-load.ts';
import type { RequestPlan } from '../load/request-plan.ts';
import { modelOfSize, pathOf, writtenModel } from '../sample-post.ts';
import { number } from '../../test/system/harness/run/table.ts';
import { WorkerProcess } from '../../test/system/harness/process/worker-process.ts';

const objects = 100;
/** Numbers of connections; the best closed loop is the peak. */
const peakConnections = [64, 256];
/** Each client above the capacity waits with a connection. */
const clients = 2000;
const loads = [0.5, 1, 2, 4];
/** Share of the peak, at four times its load. */
const wantedShare = 0.8;

/**
 * The throughput under overload: the peak of closed loops, and then requests that arrive at half, one, two and four
 * times that rate, independent of earlier responses. A response counts if it comes within a second after its request
 * was due.
 */
export async function benchOverload(run: BenchRun): Promise<void> {
  const paths = Array.from({ length: objects }, (_, i) => `${pathOf(modelOfSize(run.options.sizes[0]!))}/post-${i}`);
  const get = (): RequestPlan => ({ type: 'get', paths });
  const create = (): RequestPlan => ({ type: 'create', model: writtenModel, names: newNames() });
  const worker = new WorkerProcess<OpenLoadJob, OpenLoadResult>(new URL('../load/open-load.ts', import.meta.url));
  try {
    await curve(run, worker, 'GET one object', () => [get()]);
    await curve(run, worker, 'create', () => [create()]);
    await curve(run, worker, 'GET and create in turns', () => [get(), create()]);
  } finally {
    worker.stop();
  }
}

async function curve(
  run: BenchRun,
  worker: WorkerProcess<OpenLoadJob, OpenLoadResult>,
  what: string,
  plans: () => RequestPlan[],
): Promise<void> {
  const { seconds, warmUpSeconds, isQuick } = run.options;
  const scenario = `overload, ${what}`;
  const window = (load: Pick<OpenLoadJob, 'connections' | 'ratePerSecond'>): Promise<OpenLoadResult> =>
    worker.run({
      ...targetOf(run, run.api),
      plans: plans(),
      warmUpSeconds: Math.max(warmUpSeconds, isQuick ? 0 : 1),
      seconds,
      ...load,
    });
  let peak: OpenLoadResult | undefined;
  for (const connections of peakConnections) {
    const found = await window({ connections });
    if (peak === undefined || found.good > peak.good) peak = found;
  }
  figure(run, scenario, 'closed loop, the best', peak!, peak!);
  for (const load of loads) {
    const result = await window({ connections: isQuick ? 200 : clients, ratePerSecond: peak!.good * load });
    figure(run, scenario, `${load} times the peak`, result, peak!);
    if (load === loads.at(-1)) shareGoal(run, what, result, peak!);
  }
}

function figure(
  { report }: BenchRun,
  scenario: string,
  who: string,
  result: OpenLoadResult,
  peak: OpenLoadResult,
): void {
  const { good, late, refused, unsent, failed, failure, p50, p99 } = result;
  const share = `${number((good / peak.good) * 100)} % of the peak`;
  const rest = `429: ${number(refused)}/s, late: ${number(late)}/s, no connection: ${number(unsent)}/s`;
  report.figure({ scenario, who, perSecond: good, p50, p99, note: `${share}; ${rest}` });
  if (failed > 0) report.fail(`${scenario}, ${who}: ${failed} failures, the first: ${failure ?? ''}`);
}

function shareGoal({ report }: BenchRun, what: string, { good }: OpenLoadResult, peak: OpenLoadResult): void {
  const share = good / peak.good;
  report.goal({
    goal: `overload, ${what}, served at ${loads.at(-1)} times the peak`,
    wanted: `over ${wantedShare * 100} % of the peak`,
    measured: `${number(share * 100)} %`,
    met: share > wantedShare,
  });
}
