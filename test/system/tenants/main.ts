/**
 * One tenant attacks an API server, in a control group with the chart's limit, with permitted requests; the server must
 * survive, and another tenant must not be affected: `make tenants`. Exits 1 otherwise.
 */
import { print, runMain, type Outcome } from '../harness/run/run-main.ts';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiServer } from '../harness/process/api-server.ts';
import { PostgresProcess } from '../harness/process/postgres-process.ts';
import { readMemory, readPeak } from '../harness/process/process-usage.ts';
import { newIdentity } from '../harness/client/user-identity.ts';
import { WorkerProcess } from '../harness/process/worker-process.ts';
import { CheckReport } from '../harness/run/check-report.ts';
import { idleKindsIn, type AttackTally } from './attack-tally.ts';
import type { AttackJob } from './hostile-load.ts';
import { MemoryGroup } from './memory-group.ts';
import { failuresIn, Neighbour, type Experience } from './quiet-tenant.ts';
import { prepareTenants } from './tenant-model.ts';
import { parseTenantsOptions, usage, type TenantsOptions } from './tenants-options.ts';

const attackerName = 'attacker';
const neighbourName = 'neighbour';
/** The neighbour's 99th percentile may be twice its quiet value, or this. Milliseconds. */
const slowestP99 = 200;

interface Tokens {
  attacker: string;
  neighbour: string;
}

/** Created by a server with access management, which the attacked one lacks. */
async function newTokens(database: PostgresProcess): Promise<Tokens> {
  const api = await ApiServer.start({ parent: database.folder, databaseUrl: database.url(), command: 'serve' });
  try {
    const pat = async (username: string): Promise<string> =>
      (await newIdentity(api, username)).pat.slice('Authorization: '.length);
    const tokens = { attacker: await pat(attackerName), neighbour: await pat(neighbourName) };
    await prepareTenants(api, [attackerName, neighbourName]);
    return tokens;
  } finally {
    await api.stop();
  }
}

async function run(options: TenantsOptions, group: MemoryGroup, report: CheckReport): Promise<void> {
  const database = await PostgresProcess.start({
    parent: options.dataParent,
    settings: { max_connections: '300' },
  });
  const attacker = new WorkerProcess<AttackJob, AttackTally>(new URL('hostile-load.ts', import.meta.url));
  let api: ApiServer | undefined;
  let neighbour: Neighbour | undefined;
  try {
    const tokens = await newTokens(database);
    api = await ApiServer.start({
      parent: database.folder,
      databaseUrl: database.url(),
      groupFile: group.joinFile,
    });
    neighbour = await Neighbour.start({ port: api.port, authorization: tokens.neighbour, namespace: neighbourName });
    const quiet = await neighbour.work(options.quietSeconds);
    report.say(`alone:    ${shown(quiet)}`);
    const { only } = options;
    const job = {
      port: api.port,
      authorization: tokens.attacker,
      namespace: attackerName,
      seconds: options.seconds,
      ...(only === undefined ? {} : { only }),
    };
    await attacker.run(job);
    const attack = attacker.run(job);
    const experience = await neighbour.work(options.seconds);
    const tally = await attack;
    report.say(`attacked: ${shown(experience)}`);
    for (const [kind, statuses] of Object.entries(tally))
      report.say(
        `  ${kind.padEnd(24)} ${Object.entries(statuses)
          .map(([status, count]) => `${status}: ${count}`)
          .join(', ')}`,
      );
    await judge({ options, group, report, api, quiet, experience, tally });
  } finally {
    attacker.stop();
    neighbour?.stop();
    await api?.stop();
    await database.stop();
  }
}

interface Observations {
  options: TenantsOptions;
  group: MemoryGroup;
  report: CheckReport;
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
  return `${requests} requests, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, longest ${longest.toFixed(0)} ms; p99 of ${[...p99Of].map(([kind, ms]) => `${kind} ${ms.toFixed(0)}`).join(', ')}; ${[...statuses].map(([status, count]) => `${status}: ${count}`).join(', ')}`;
}

async function restOf(pid: number): Promise<number> {
  await delay(5000);
  return Math.round(readMemory({ server: pid }).server);
}

async function runInGroup(options: TenantsOptions): Promise<Outcome> {
  const report = new CheckReport(print);
  let group: MemoryGroup | undefined;
  try {
    group = await MemoryGroup.create(`svc-tenants-${process.pid}`, options.memoryBytes);
  } catch (error) {
    print(
      `\n### NOT RUN, because no control group can be created here (that needs root, and a writable /sys/fs/cgroup): ${(error as Error).message}\n`,
    );
    return { passed: 0, failures: [] };
  }
  try {
    await run(options, group, report);
  } catch (error) {
    report.check('the run finishes', false, error instanceof Error ? (error.stack ?? error.message) : String(error));
  } finally {
    await group.remove();
  }
  const { passed, violations } = report;
  const failures = violations.map((violation) => `tenants: ${violation}`);
  print(`tenants: ${passed} held, ${failures.length} FAILED`);
  return { passed, failures };
}

await runMain({ usage, parse: parseTenantsOptions, run: runInGroup });
