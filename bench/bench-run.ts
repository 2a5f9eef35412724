import type { ApiServer } from '../test/system/harness/process/api-server.ts';
import type { PostgresProcess } from '../test/system/harness/process/postgres-process.ts';
import type { BareProcess } from './server/bare-process.ts';
import type { BenchOptions } from './bench-options.ts';
import { compare, type ComparedContender, type Contender } from './report/comparison.ts';
import type { LoadJob } from './load/load.ts';
import type { Report } from './report/report.ts';
import type { RequestPlan } from './load/request-plan.ts';
import type { Sample } from './report/sample.ts';
import { groupSize, pathOf, postText, type SampleModel } from './sample-post.ts';
import type { WorkerProcess } from '../test/system/harness/process/worker-process.ts';

/** The dependencies of a scenario; the owner stops the processes. */
export interface BenchRun {
  options: BenchOptions;
  report: Report;
  database: PostgresProcess;
  api: ApiServer;
  express: BareProcess;
  http: BareProcess;
  loader: WorkerProcess<LoadJob, Sample>;
}

/** `svc` under a plan, for the length of a window; `api` replaces the run's server. */
export function apiContender(
  run: BenchRun,
  name: string,
  { api = run.api, ...load }: { plan: () => RequestPlan; connections: number; api?: ApiServer },
): Contender {
  return { name, run: () => loadWindow(run, { ...load, ...targetOf(run, api) }) };
}

/** The target of requests, and the processes whose processor time counts. */
export function targetOf(
  { database }: Pick<BenchRun, 'database'>,
  api: ApiServer,
): Pick<LoadJob, 'port' | 'authorization' | 'processes'> {
  return {
    port: api.port,
    authorization: api.authorization,
    processes: { server: api.pid, postmaster: database.postmaster },
  };
}

/** Requests to any server; the target's `authorization` is one header line, or several separated by CRLF. */
export function targetContender(run: BenchRun, name: string, target: () => WindowTarget): Contender {
  return { name, run: () => loadWindow(run, target()) };
}

export function bareContender(
  run: BenchRun,
  name: string,
  server: BareProcess,
  load: Pick<WindowTarget, 'plan' | 'connections' | 'authority' | 'anew'>,
): Contender {
  return {
    name,
    run: () => loadWindow(run, { ...load, port: server.port, authorization: '', processes: { server: server.pid } }),
  };
}

export interface WindowTarget extends Pick<
  LoadJob,
  'port' | 'authority' | 'anew' | 'authorization' | 'connections' | 'processes'
> {
  plan: () => RequestPlan;
}

function loadWindow({ loader, options }: BenchRun, { plan, ...target }: WindowTarget): Promise<Sample> {
  return loader.run({ ...target, plan: plan(), warmUpSeconds: options.warmUpSeconds, seconds: options.seconds });
}

/** Runs each contender once unmeasured, for its just-in-time compiler; then compares them and reports. */
export async function runComparison(
  { options, report }: BenchRun,
  scenario: string,
  contenders: readonly Contender[],
): Promise<ComparedContender[]> {
  if (!options.isQuick) for (const contender of contenders) await contender.run();
  const compared = await compare(contenders, options.rounds);
  report.compared(scenario, compared);
  return compared;
}

let series = 0;

/** A name prefix that no window has used. */
export function newNames(): string {
  series += 1;
  return `s${series}`;
}

/** No more than one user's requests under way by default: others might wait too long, which is 429. */
export const fillConnections = 64;

/**
 * Fills a model through the API over many connections. Throws unless every object is accepted, because the results
 * would be wrong.
 */
export async function fill(run: BenchRun, model: SampleModel, count: number): Promise<Sample> {
  const plan: RequestPlan = { type: 'create', model, names: 'post' };
  const sample = await run.loader.run({
    ...targetOf(run, run.api),
    connections: fillConnections,
    plan,
    warmUpSeconds: 0,
    seconds: 0,
    requests: count,
  });
  if (sample.errors > 0)
    throw new Error(`filling ${model.plural}: ${sample.errors} errors, the first: ${sample.failure ?? ''}`);
  return sample;
}

/** Creates the named objects, for updates. */
export async function createObjects(api: ApiServer, model: SampleModel, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map((name, number) =>
      api.fetch(pathOf(model), {
        method: 'POST',
        body: postText(model, { name, number: number * groupSize, title: 'A morning' }),
      }),
    ),
  );
}
