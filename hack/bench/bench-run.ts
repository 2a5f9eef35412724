import type { ApiProcess } from './api-process.ts';
import type { BareProcess } from './bare-process.ts';
import type { BenchOptions } from './bench-options.ts';
import { compare, type Contender } from './comparison.ts';
import type { LoadJob } from './load.ts';
import type { Report } from './report.ts';
import type { RequestPlan } from './request-plan.ts';
import type { Sample } from './sample.ts';
import { groupSize, pathOf, postText, type SampleModel } from './sample-post.ts';
import type { Worker } from './worker.ts';

/** Everything a scenario works with; the processes are their owner's to stop. */
export interface BenchRun {
  options: BenchOptions;
  report: Report;
  api: ApiProcess;
  express: BareProcess;
  http: BareProcess;
  loader: Worker<LoadJob, Sample>;
}

/** Before every window. */
const warmUpSeconds = 0.5;

/** `svc` under a plan, for as long as a window lasts. */
export function apiContender(run: BenchRun, name: string, load: { plan: () => RequestPlan; connections: number }): Contender {
  const { api } = run;
  return { name, run: () => loadWindow(run, { ...load, port: api.port, authorization: api.authorization, processes: { server: api.pid, postmaster: api.postmaster } }) };
}

export function bareContender(run: BenchRun, name: string, server: BareProcess, load: { plan: () => RequestPlan; connections: number }): Contender {
  return { name, run: () => loadWindow(run, { ...load, port: server.port, authorization: '', processes: { server: server.pid } }) };
}

interface WindowTarget extends Pick<LoadJob, 'port' | 'authorization' | 'connections' | 'processes'> {
  plan: () => RequestPlan;
}

function loadWindow({ loader, options }: BenchRun, { plan, ...target }: WindowTarget): Promise<Sample> {
  return loader.run({ ...target, plan: plan(), warmUpSeconds, seconds: options.seconds });
}

/** Lets each contender run once unmeasured, for its just-in-time compiler; then compares them and reports. */
export async function runComparison({ options, report }: BenchRun, scenario: string, contenders: readonly Contender[]): Promise<void> {
  for (const contender of contenders) await contender.run();
  report.compared(scenario, await compare(contenders, options.rounds));
}

let series = 0;

/** A beginning of names that no window had before. */
export function newNames(): string {
  series += 1;
  return `s${series}`;
}

/** Fills a model through the API, many connections at once; answers how long that took. Seconds. */
export async function fill({ loader, api, report }: Pick<BenchRun, 'loader' | 'api' | 'report'>, model: SampleModel, count: number): Promise<number> {
  const plan: RequestPlan = { type: 'create', model, names: 'post' };
  const processes = { server: api.pid, postmaster: api.postmaster };
  const sample = await loader.run({ port: api.port, authorization: api.authorization, connections: 128, plan, warmUpSeconds: 0, seconds: 0, requests: count, processes });
  if (sample.errors > 0) report.fail(`filling ${model.plural}: ${sample.errors} errors, the first: ${sample.failure ?? ''}`);
  return sample.seconds;
}

/** Objects named one by one, for updates. */
export async function createObjects({ api }: Pick<BenchRun, 'api'>, model: SampleModel, names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name, number) => api.fetch(pathOf(model), { method: 'POST', body: postText(model, { name, number: number * groupSize, title: 'A morning' }) })));
}
