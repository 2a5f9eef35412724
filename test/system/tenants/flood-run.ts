import { table } from '../harness/run/table.ts';
import { ApiServer } from '../harness/process/api-server.ts';
import { WorkerProcess } from '../harness/process/worker-process.ts';
import type { AttackTally } from './attack-tally.ts';
import type { FloodJob } from './flood-load.ts';
import { floodNames, type FloodName } from './floods.ts';
import { LeaseHolder, type Renewals } from './lease-holder.ts';
import { countsText, failuresIn, Neighbour, type Experience } from './quiet-tenant.ts';
import { tenantOf, type TenantsRun } from './tenants-run.ts';

/** The neighbour's 99th percentile may be twice its quiet value, or this. Milliseconds. */
const slowestP99 = 100;
/** After so long without a renewal a leader steps down. Milliseconds. */
const leaseDeadlineMs = 10_000;

interface Phase {
  flood: FloodName;
  quiet: Experience;
  flooded: Experience;
  renewals: Renewals;
  sent: AttackTally[string];
}

/**
 * One user floods, with one kind of request in each phase. Another user works as before, and a third renews a lease:
 * each of their requests must succeed, and almost as fast as without the flood.
 */
export async function runFloods(tenants: TenantsRun): Promise<void> {
  const { report, options, database } = tenants;
  const flooder = new WorkerProcess<FloodJob, AttackTally>(new URL('flood-load.ts', import.meta.url));
  let api: ApiServer | undefined;
  let neighbour: Neighbour | undefined;
  let leader: LeaseHolder | undefined;
  try {
    api = await ApiServer.start({ parent: database.folder, databaseUrl: database.url() });
    neighbour = await Neighbour.start(tenantOf(tenants, 'neighbour', api.port));
    leader = await LeaseHolder.start(tenantOf(tenants, 'leader', api.port));
    const attacker = tenantOf(tenants, 'attacker', api.port);
    const prepared = await flooder.run({ ...attacker, flood: floodNames[0], seconds: 0 });
    const created = Object.keys(prepared['prepare'] ?? {});
    report.check('the objects of the flood are created', created.join() === '201', created.join());
    const phases: Phase[] = [];
    for (const flood of floodNames.filter((name) => options.floods?.includes(name) ?? true)) {
      const quiet = await neighbour.work(options.quietSeconds);
      const over = new AbortController();
      const flooding = flooder.run({ ...attacker, flood, seconds: options.floodSeconds });
      const renewing = leader.renew(over.signal);
      const flooded = await neighbour.work(options.floodSeconds);
      const tally = await flooding;
      over.abort();
      phases.push({ flood, quiet, flooded, renewals: await renewing, sent: tally[flood] ?? {} });
    }
    for (const phase of phases) judge(tenants, phase);
    report.check('the server keeps running', api.process.isRunning, api.process.log().slice(-2000));
    report.say(`\n${tableOf(phases)}\n`);
  } finally {
    flooder.stop();
    neighbour?.stop();
    leader?.stop();
    await api?.stop();
  }
}

function judge({ report, options }: TenantsRun, { flood, quiet, flooded, renewals, sent }: Phase): void {
  const failures = failuresIn(flooded);
  report.check(`during ${flood}, each request of the neighbour succeeds`, failures.length === 0, failures.join(', '));
  report.check(
    `during ${flood}, each renewal of the lease succeeds`,
    renewals.failures.length === 0,
    renewals.failures.slice(0, 3).join('; '),
  );
  report.check(
    `${flood} have an effect`,
    (sent['200'] ?? 0) + (sent['201'] ?? 0) > 0,
    countsText(Object.entries(sent)),
  );
  if (!options.assertsTime) return;
  const bound = boundOf(quiet);
  report.check(
    `during ${flood}, the neighbour's 99th percentile is at most ${bound.toFixed(0)} ms`,
    flooded.p99 <= bound,
    `${flooded.p99.toFixed(0)} ms`,
  );
  report.check(
    `during ${flood}, a lease is renewed in time`,
    renewals.longestMs < leaseDeadlineMs,
    `${renewals.longestMs.toFixed(0)} ms`,
  );
}

function boundOf(quiet: Experience): number {
  return Math.max(slowestP99, 2 * quiet.p99);
}

function tableOf(phases: readonly Phase[]): string {
  const header = [
    'one user floods with',
    'quiet p50 / p99',
    'flooded p50 / p99',
    'bound',
    'statuses of the neighbour',
    'longest renewal of a lease',
    'statuses of the flood',
  ];
  const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
  const pair = ({ p50, p99 }: Experience): string => `${ms(p50)} / ${ms(p99)} ms`;
  const rows = phases.map(({ flood, quiet, flooded, renewals, sent }) => [
    flood,
    pair(quiet),
    pair(flooded),
    `${ms(boundOf(quiet))} ms`,
    countsText(flooded.statuses),
    `${ms(renewals.longestMs)} ms of ${renewals.count}`,
    countsText(Object.entries(sent)),
  ]);
  return table([header, ...rows]);
}
