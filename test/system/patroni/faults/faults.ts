import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { now } from '../../harness/history/instant.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { onServers, type CaseOptions } from '../cluster/on-servers.ts';
import { database, recipes, type PatroniCluster, type Recipe } from '../cluster/patroni-cluster.ts';
import type { PatroniNode } from '../cluster/patroni-node.ts';
import { underWorkload, writtenRevision, type UnderWorkload } from '../primary/recorded-workload.ts';
import { faultLines, longestSilence, type FaultEffect } from './fault-table.ts';

/** Above the time after which Patroni's lock in etcd expires. Milliseconds. */
const holdMs = 40_000;
const recoveryMs = 120_000;
/** Between a change of the configuration and the moment when all Patronis know it. Milliseconds. */
const knownMs = 12_000;
/** The last part of a fault, in which its effect has settled. Milliseconds. */
const settledMs = 10_000;

const limits = { timeoutMs: recoveryMs, intervalMs: 100 };

interface FaultRun {
  cluster: PatroniCluster;
  report: CaseOptions['report'];
  /** How many writes the server of this recipe acknowledged since the moment. */
  writesSince: (recipe: Recipe, moment: number) => number;
}

type Fault = (run: FaultRun, primary: PatroniNode) => Promise<void>;

/**
 * There are two primaries then. Neither loses what it acknowledged; but svc with several hosts reads from the old one,
 * which nobody tells, until its sessions end.
 */
const hangingPatroni = 'its Patroni hangs';

/** By its name in the table. Each resolves when what it broke is repaired. */
const faults: readonly [string, Fault][] = [
  ['one of three etcd members', (run, primary) => loseOneMember(run, primary)],
  ['two of three', (run) => loseTwoMembers(run)],
  ['two of three, failsafe_mode', (run, primary) => loseTwoMembersFailsafe(run, primary)],
  ['the primary hangs', (run, primary) => hang(run, { primary, what: 'machine' })],
  [hangingPatroni, (run, primary) => hang(run, { primary, what: 'patroni' })],
];

/** Three PostgreSQL servers; a commit waits for standbys. Members of etcd end, and a primary hangs and wakes up. */
export async function faultsOfParts(options: CaseOptions): Promise<void> {
  const { report } = options;
  const folder = join(options.folder, 'faults');
  await onServers({ folder, size: 3, isSynchronous: true, report }, async (ground) => {
    const mayBeStale = new RegExp(`on several hosts.*while ${hangingPatroni}`);
    await underWorkload(ground, { ...options, mayBeStale }, async (workload) => {
      const effects: FaultEffect[] = [];
      for (const [name, fault] of faults) {
        const effect = await tryFault(ground.cluster, { name, fault, workload, report });
        effects.push(effect);
        report.say(faultLines([effect]).at(-1)!);
      }
      for (const line of faultLines(effects)) report.say(line);
    });
  });
}

async function tryFault(
  cluster: PatroniCluster,
  {
    name,
    fault,
    workload: { operations, during },
    report,
  }: { name: string; fault: Fault; workload: UnderWorkload; report: CaseOptions['report'] },
): Promise<FaultEffect> {
  const primary = await cluster.primary();
  const written = (recipe: Recipe, since: number): number[] =>
    operations.flatMap((operation) => {
      const isMeant = operation.replica === recipe && operation.completed >= since;
      return isMeant && writtenRevision(operation) !== undefined ? [operation.completed] : [];
    });
  return during(name, async () => {
    const from = now();
    await fault({ cluster, report, writesSince: (recipe, moment) => written(recipe, moment).length }, primary);
    const repaired = now();
    await cluster.untilWhole();
    await retryUntilTrue(() => recipes.every((recipe) => written(recipe, repaired).length > 0), {
      what: `both servers acknowledge writes after: ${name}`,
      ...limits,
    });
    const to = now();
    const silenceOf = (recipe: Recipe): number => longestSilence(written(recipe, from), { from, to });
    const silence = { 'several hosts': silenceOf('several hosts'), haproxy: silenceOf('haproxy') };
    return { name, lasted: repaired - from, silence, hasNewPrimary: (await cluster.primary()) !== primary };
  });
}

async function loseOneMember({ cluster, report, writesSince }: FaultRun, primary: PatroniNode): Promise<void> {
  const member = cluster.etcd.members[0]!;
  await member.kill();
  await delay(holdMs);
  const settled = now() - settledMs;
  report.check('two of three etcd members keep the primary', (await cluster.primary()) === primary);
  report.check(
    'writes go on with two of three etcd members',
    recipes.every((recipe) => writesSince(recipe, settled) > 0),
  );
  member.launch();
  await cluster.etcd.untilHealthy();
}

async function loseTwoMembers({ cluster, report, writesSince }: FaultRun): Promise<void> {
  const members = cluster.etcd.members.slice(0, 2);
  await Promise.all(members.map((member) => member.kill()));
  await delay(holdMs);
  const settled = now() - settledMs;
  const answers = await Promise.all(cluster.nodes.map((node) => takesWrites(node)));
  report.check('no server is a primary without etcd', !answers.includes(true), answers.join(', '));
  report.check(
    'no write is acknowledged without etcd',
    recipes.every((recipe) => writesSince(recipe, settled) === 0),
  );
  for (const member of members) member.launch();
  await cluster.etcd.untilHealthy();
}

async function loseTwoMembersFailsafe({ cluster, report, writesSince }: FaultRun, primary: PatroniNode): Promise<void> {
  await primary.ctl('edit-config', '--force', '-s', 'failsafe_mode=true');
  await delay(knownMs);
  const members = cluster.etcd.members.slice(0, 2);
  await Promise.all(members.map((member) => member.kill()));
  await delay(holdMs);
  const settled = now() - settledMs;
  report.check('failsafe_mode keeps the primary without etcd', (await takesWrites(primary)) === true);
  report.check(
    'writes go on without etcd in failsafe_mode',
    recipes.every((recipe) => writesSince(recipe, settled) > 0),
  );
  for (const member of members) member.launch();
  await cluster.etcd.untilHealthy();
  await primary.ctl('edit-config', '--force', '-s', 'failsafe_mode=null');
}

/** Wakes up after another server was promoted. */
async function hang(
  { cluster }: FaultRun,
  { primary, what }: { primary: PatroniNode; what: 'machine' | 'patroni' },
): Promise<void> {
  await primary.pause(what);
  try {
    const others = cluster.nodes.filter((node) => node !== primary);
    await retryUntilTrue(async () => (await Promise.all(others.map((node) => node.isPrimary()))).includes(true), {
      what: 'another server is promoted',
      ...limits,
    });
    await delay(settledMs);
  } finally {
    await primary.resume();
  }
  // On a busy machine the lock may have gone back to the former primary.
  const takers = async (): Promise<(boolean | undefined)[]> =>
    Promise.all(cluster.nodes.map((node) => takesWrites(node)));
  await retryUntilTrue(
    async () => {
      const answers = await takers();
      return !answers.includes(undefined) && answers.filter(Boolean).length === 1;
    },
    { what: 'one server takes writes', ...limits },
  );
}

/** Undefined if it cannot be asked. */
async function takesWrites(node: PatroniNode): Promise<boolean | undefined> {
  try {
    const client = await node.connect(database);
    try {
      const { rows } = await client.query<{ isStandby: boolean }>('SELECT pg_is_in_recovery() AS "isStandby"');
      return rows[0]?.isStandby === false;
    } finally {
      await client.end();
    }
  } catch {
    return undefined;
  }
}
