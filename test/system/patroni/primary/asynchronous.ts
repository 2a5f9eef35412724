import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { rebuildsIn } from '../../harness/process/server-log.ts';
import { makeModel } from '../../harness/workload/define-models.ts';
import { Follower } from '../../harness/workload/follower.ts';
import { MarkedWriter } from '../../harness/workload/marked-writer.ts';
import { OperationLog } from '../../harness/workload/operation-log.ts';
import { readMarks } from '../../harness/workload/read-marks.ts';
import { RecordingClient } from '../../harness/workload/recording-client.ts';
import { notes, pathOf } from '../../harness/workload/sample-models.ts';
import { changePrimary, shuffledChanges, type PrimaryChange } from './change-primary.ts';
import { findLosses } from '../cluster/losses.ts';
import { onServers, type CaseOptions, type Ground } from '../cluster/on-servers.ts';
import { outageLine, outageLines } from './outage-table.ts';
import type { SupervisedServer } from '../cluster/supervised-server.ts';

/** Of each server. */
const writerCount = 3;
const followerCount = 4;
const warmUpMs = 3000;
const settleMs = 60_000;

/** A server with its clients. */
interface Watched {
  server: SupervisedServer;
  writers: readonly MarkedWriter[];
  followers: readonly Follower[];
}

/**
 * Two PostgreSQL servers; commits do not wait. A kill may lose what was acknowledged, and whoever saw it must be told.
 * Before every second kill the standby is held back, so that something is lost.
 */
export async function asynchronous(options: CaseOptions): Promise<void> {
  const { report, count } = options;
  report.say(`${count} switchovers and ${count} kills of the primary`);
  const folder = join(options.folder, 'asynchronous');
  await onServers({ folder, size: 2, isSynchronous: false, report }, async (ground) => {
    await defineNotes(ground, options.seed);
    const watched = ground.servers.map((server, i): Watched => {
      const { token } = ground;
      const { port } = server;
      return {
        server,
        writers: Array.from(
          { length: writerCount },
          (_, j) => new MarkedWriter({ id: i * writerCount + j + 1, token, port, model: notes }),
        ),
        followers: Array.from({ length: followerCount }, () => new Follower({ token, port, path: pathOf(notes) })),
      };
    });
    const everybody = watched.flatMap(({ writers, followers }) => [...writers, ...followers]);
    try {
      for (const one of everybody) one.start();
      const done = await changeAll(ground, watched, options);
      await Promise.all(watched.flatMap(({ writers }) => writers.map((writer) => writer.stop())));
      await judge(ground, { watched, done, report });
    } finally {
      await Promise.all(everybody.map((one) => one.stop()));
    }
  });
}

async function defineNotes({ servers, token }: Ground, seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const operator = new RecordingClient({ id: 1, targets: servers, token, random, operationLog: new OperationLog() });
  await makeModel({ operator, replicas: servers, modelChanges: [] }, notes);
  operator.api.close();
}

async function changeAll(
  { cluster }: Ground,
  watched: readonly Watched[],
  options: CaseOptions,
): Promise<PrimaryChange[]> {
  const done: PrimaryChange[] = [];
  let kills = 0;
  for (const kind of shuffledChanges(options)) {
    await delay(warmUpMs);
    if (kind === 'kill') kills += 1;
    const change = await changePrimary({
      cluster,
      kind,
      isHeldBack: kills % 2 === 1,
      firstAcknowledged: (recipe, { above, since }) => {
        const { writers = [] } = watched.find(({ server }) => server.name === recipe) ?? {};
        const times = writers.flatMap(
          ({ acknowledged }) => acknowledged.find(({ revision, at }) => revision > above && at >= since)?.at ?? [],
        );
        return times.length === 0 ? undefined : Math.min(...times);
      },
    });
    done.push(change);
    options.report.say(outageLine(change));
  }
  await delay(warmUpMs);
  return done;
}

async function judge(
  { cluster }: Ground,
  {
    watched,
    done,
    report,
  }: { watched: readonly Watched[]; done: readonly PrimaryChange[]; report: CaseOptions['report'] },
): Promise<void> {
  const present = await readMarks(cluster, notes);
  const isSame = ({ objects }: Follower): boolean =>
    objects.size === present.size && [...objects].every(([name, state]) => present.get(name) === state);
  const followers = watched.flatMap((each) => each.followers);
  await retryUntilTrue(() => followers.every(isSame), {
    what: 'every follower holds what the database holds',
    timeoutMs: settleMs,
  }).catch(() => undefined);
  const rows = await cluster.query<{ rev: string }>('SELECT rev FROM platform.change_log');
  const rebuilds = await Promise.all(watched.map(({ server }) => rebuildsIn(server.logFile)));
  const servers = watched.map((each, i) => ({
    name: each.server.name,
    acknowledged: each.writers.flatMap(({ acknowledged }) => acknowledged),
    followers: each.followers,
    rebuilds: rebuilds[i]!,
    ends: each.server.ends,
  }));
  const {
    lost,
    resets,
    rebuilds: count,
    violations,
  } = findLosses({
    servers,
    changes: done,
    log: new Set(rows.map(({ rev }) => Number(rev))),
  });
  const acknowledged = servers.reduce((sum, server) => sum + server.acknowledged.length, 0);
  report.say(
    `  ${acknowledged} writes acknowledged, ${lost.length} lost; ${resets} watches answered 410, ${count} times a server rebuilt its state`,
  );
  for (const line of outageLines(done)) report.say(line);
  report.check(
    'exactly those who saw what was lost are told',
    violations.length === 0,
    `${violations.length}: ${violations.slice(0, 5).join('; ')}`,
  );
  for (const [i, follower] of followers.entries()) {
    report.check(`follower ${i + 1} holds what the database holds`, isSame(follower));
    const { contradictions } = follower;
    report.check(
      `follower ${i + 1} received no impossible event`,
      contradictions.length === 0,
      contradictions.slice(0, 3).join('; '),
    );
  }
}
