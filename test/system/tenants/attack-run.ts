import { setTimeout as delay } from 'node:timers/promises';
import { ApiServer } from '../harness/process/api-server.ts';
import { readMemory, readPeak } from '../harness/process/process-usage.ts';
import { WorkerProcess } from '../harness/process/worker-process.ts';
import { idleKindsIn, type AttackTally } from './attack-tally.ts';
import type { AttackJob } from './hostile-load.ts';
import { MemoryGroup } from './memory-group.ts';
import { countsText, failuresIn, Neighbour, type Experience } from './quiet-tenant.ts';
import { tenantOf, type TenantsRun } from './tenants-run.ts';

/** The neighbour's 99th percentile may be twice its quiet value, or this. Milliseconds. */
const slowestP99 = 200;

/**
 * One tenant sends all that it may, also what is expensive or never read, and the server has the memory of the chart:
 * the server must survive, and each request of another tenant must succeed.
 */
export async function runAttack(tenants: TenantsRun): Promise<void> {
  const { report, options } = tenants;
  let group: MemoryGroup;
  try {
    group = await MemoryGroup.create(`svc-tenants-${process.pid}`, options.memoryBytes);
  } catch (error) {
    report.say(
      `\n### NOT RUN, because no control group can be created here (that needs root, and a writable /sys/fs/cgroup): ${(error as Error).message}\n`,
    );
    return;
  }
  try {
    await attack(tenants, group);
  } finally {
    await group.remove();
  }
}

async function attack(tenants: TenantsRun, group: MemoryGroup): Promise<void> {
  const { report, options, database } = tenants;
  const attacker = new WorkerProcess<AttackJob, AttackTally>(new URL('hostile-load.ts', import.meta.url));
  let api: ApiServer | undefined;
  let neighbour: Neighbour | undefined;
  try {
    api = await ApiServer.start({
      parent: database.folder,
      databaseUrl: database.url(),
      groupFile: group.joinFile,
    });
    neighbour = await Neighbour.start(tenantOf(tenants, 'neighbour', api.port));
    const quiet = await neighbour.work(options.quietSeconds);
    report.say(`alone:    ${shown(quiet)}`);
    const { only } = options;
    const job = {
      ...tenantOf(tenants, 'attacker', api.port),
      seconds: options.seconds,
      ...(only === undefined ? {} : { only }),
    };
    await attacker.run(job);
    const attacking = attacker.run(job);
    const experience = await neighbour.work(options.seconds);
    const tally = await attacking;
    report.say(`attacked: ${shown(experience)}`);
    for (const [kind, statuses] of Object.entries(tally))
      report.say(`  ${kind.padEnd(24)} ${countsText(Object.entries(statuses))}`);
    await judge({ options, group, report, api, quiet, experience, tally });
  } finally {
    attacker.stop();
    neighbour?.stop();
    await api?.stop();
  }
}

interface Observations {
  options: TenantsRun['options'];
  group: MemoryGroup;
  report: TenantsRun['report'];
  api: ApiServer;
  quiet: Experience;
  experience: Experience;
  tally: AttackTally;
}

async function judge({ options, group, report, api, quiet, experience, tally }: Observations): Promise<void> {
  const kills = await group.kills();
  report.check('the kernel killed no process for lack of memory', kills === 0, `${kills} times`);
  report.check('the server keeps running', api.process.isRunning, api.process.log().slice(-2000));
  if (api.process.isRunning)
    report.say(
      `largest resident memory ${Math.round(readPeak(api.pid))} MiB of ${options.memoryBytes / 1024 ** 2}; after 5 s idle ${await restOf(api.pid)} MiB`,
    );
  const failures = failuresIn(experience);
  report.check('each request of the neighbour succeeded', failures.length === 0, failures.join(', '));
  const idle = idleKindsIn(tally);
  report.check('each kind of attack had an effect', idle.length === 0, idle.join('; '));
  const bound = Math.max(slowestP99, 2 * quiet.p99);
  if (options.assertsTime)
    report.check(
      `the neighbour's 99th percentile is under ${bound.toFixed(0)} ms`,
      experience.p99 < bound,
      `${experience.p99.toFixed(0)} ms`,
    );
  const refused = await api.fetch('/metrics').catch(() => '');
  for (const line of refused.split('\n').filter((each) => /^svc_(?:requests_refused|http_bytes)/.test(each)))
    report.say(`  ${line}`);
}

function shown({ requests, statuses, p50, p99, longest, p99Of }: Experience): string {
  return `${requests} requests, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, longest ${longest.toFixed(0)} ms; p99 of ${[...p99Of].map(([kind, ms]) => `${kind} ${ms.toFixed(0)}`).join(', ')}; ${countsText(statuses)}`;
}

async function restOf(pid: number): Promise<number> {
  await delay(5000);
  return Math.round(readMemory({ server: pid }).server);
}
