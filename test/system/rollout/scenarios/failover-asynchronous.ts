import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { makeModel } from '../../harness/workload/define-models.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { rebuildsIn } from '../../harness/process/server-log.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { RecordingClient } from '../../harness/workload/recording-client.ts';
import { now } from '../../harness/history/instant.ts';
import { readMarks } from '../../harness/workload/read-marks.ts';
import { OperationLog } from '../../harness/workload/operation-log.ts';
import { bodyOf, notes, pathOf } from '../../harness/workload/sample-models.ts';
import { Follower } from '../../harness/workload/follower.ts';
import { MarkedWriter, type Acknowledged } from '../../harness/workload/marked-writer.ts';
import type { Cluster } from '../cluster.ts';
import type { Pod } from '../pod.ts';
import { readEpoch } from '../read-epoch.ts';
import type { Credentials } from '../render-release.ts';
import type { RolloutReport } from '../scenario.ts';

const followerCount = 8;
const writerCount = 6;
const beforeMs = 3000;
/** Acknowledged writes of this period will be lost. Milliseconds. */
const detachedMs = 2500;
const afterMs = 3000;
const recoveryMs = 60_000;

/** What a scenario with its own cluster gets. */
export interface Ground {
  cluster: Cluster;
  credentials: Credentials;
  report: RolloutReport;
  isQuick: boolean;
}

/**
 * The primary is killed while its standby lacks acknowledged writes: they are lost, and no client may continue as if
 * they existed.
 */
export async function failoverAsynchronous({
  cluster,
  credentials: { adminToken: token },
  report,
}: Ground): Promise<void> {
  const { pair } = cluster;
  const port = cluster.port('apiserver');
  const operator = new RecordingClient({
    id: 1,
    targets: [{ name: 'the load balancer', port }],
    token,
    random: new SeededRandom(1),
    operationLog: new OperationLog(),
  });
  await makeModel({ operator, replicas: [{ name: 'the load balancer', port }], modelChanges: [] }, notes);
  const followers = Array.from({ length: followerCount }, () => new Follower({ token, port, path: pathOf(notes) }));
  const writers = Array.from(
    { length: writerCount },
    (_, i) => new MarkedWriter({ id: i + 1, token, port, model: notes }),
  );
  const everybody = [...followers, ...writers];
  try {
    for (const one of everybody) one.start();
    await delay(beforeMs);
    await pair.detachStandby();
    const before = await readEpoch(pair);
    await delay(detachedMs);
    const [kept] = await pair.standby.query<{ rev: string }>(
      'SELECT max(rev) AS rev FROM platform.change_log',
      [],
      'svc',
    );
    const keptRevision = Number(kept?.rev);
    await retryUntilTrue(() => followers.every(({ position }) => position > keptRevision), {
      what: 'every follower has received the writes that will be lost',
      timeoutMs: recoveryMs,
    });
    const servers = [...cluster.deployment('apiserver').pods];
    const processes = servers.map(({ pid }) => pid);
    const killed = now();
    await pair.failOver();
    const promoted = now();
    const hasRebuilt = async ({ logFile, isReady }: Pod): Promise<boolean> =>
      isReady && (await rebuildsIn(logFile)).length > 0;
    await retryUntilTrue(async () => (await Promise.all(servers.map(hasRebuilt))).every(Boolean), {
      what: 'the API servers have rebuilt their state',
      timeoutMs: recoveryMs,
    });
    await retryUntilTrue(() => writers.every(({ acknowledged }) => (acknowledged.at(-1)?.at ?? 0) > promoted), {
      what: 'writes go on',
      timeoutMs: recoveryMs,
    });
    const recovered = now();
    await delay(afterMs);
    await Promise.all(writers.map((writer) => writer.stop()));
    const acknowledged = writers.flatMap((writer) => writer.acknowledged);
    const lost = acknowledged.filter(({ revision, at }) => revision > keptRevision && at < promoted);
    report.say(
      `  ${acknowledged.length} writes acknowledged, ${lost.length} of them after the standby's last revision, ${keptRevision}; recovered ${((recovered - killed) / 1000).toFixed(1)} s after the kill`,
    );
    report.check(
      'every API server went on in its process',
      isDeepStrictEqual(
        servers.map(({ pid, ends }) => ({ pid, ends: ends.length })),
        processes.map((pid) => ({ pid, ends: 0 })),
      ),
      JSON.stringify(servers.map(({ name, ends }) => ({ name, ends }))),
    );
    report.check('acknowledged writes were lost, so that the loss can be noticed', lost.length > 0);
    report.check(
      'the epoch stays, and there is one gap',
      isDeepStrictEqual(await readEpoch(pair), { ...before, gaps: before.gaps + 1 }),
      JSON.stringify([before, await readEpoch(pair)]),
    );
    await checkFollowers({ cluster, followers, keptRevision, promoted, report });
    checkRevisions(acknowledged, { keptRevision, promoted, report });
    await checkOldRevisions({ operator, lost, report, port });
    const present = await readMarks(cluster.pair, notes);
    const last = new Map(
      acknowledged
        .filter(({ revision, at }) => revision <= keptRevision || at > promoted)
        .toSorted((a, b) => a.revision - b.revision)
        .map(({ name, marker, revision }) => [name, `${marker} at ${revision}`]),
    );
    for (const [name, state] of last)
      report.check(
        `the last acknowledged write of ${name} that was not lost is there`,
        isAtLeast(present.get(name), state),
        `${present.get(name) ?? 'nothing'} instead of ${state}`,
      );
  } finally {
    await Promise.all(everybody.map((one) => one.stop()));
    operator.api.close();
  }
}

/** Every cache had to list again, and now equals the database. */
async function checkFollowers({
  cluster,
  followers,
  keptRevision,
  promoted,
  report,
}: {
  cluster: Cluster;
  followers: readonly Follower[];
  keptRevision: number;
  promoted: number;
  report: RolloutReport;
}): Promise<void> {
  const [row] = await cluster.pair.query<{ rev: string }>('SELECT max(rev) AS rev FROM platform.change_log');
  const present = await readMarks(cluster.pair, notes);
  const isSame = ({ objects }: Follower): boolean =>
    objects.size === present.size && [...objects].every(([name, state]) => present.get(name) === state);
  await retryUntilTrue(() => followers.every(isSame), {
    what: 'every follower holds what the database holds',
    timeoutMs: recoveryMs,
  }).catch(() => undefined);
  for (const [i, follower] of followers.entries()) {
    const differing = [...new Set([...follower.objects.keys(), ...present.keys()])].filter(
      (name) => follower.objects.get(name) !== present.get(name),
    );
    report.check(
      `follower ${i + 1} holds what the database holds at ${row?.rev ?? 0}`,
      isSame(follower),
      differing
        .slice(0, 3)
        .map(
          (name) => `${name}: ${follower.objects.get(name) ?? 'nothing'} instead of ${present.get(name) ?? 'nothing'}`,
        )
        .join(', '),
    );
    report.check(
      `follower ${i + 1}, which had received lost revisions, got 410`,
      follower.resets.some(({ at, position }) => at > promoted - detachedMs && position > keptRevision),
      JSON.stringify(follower.resets),
    );
    report.check(
      `follower ${i + 1} received no impossible event`,
      follower.contradictions.length === 0,
      follower.contradictions.slice(0, 3).join('; '),
    );
  }
}

/** No revision may be reported with two different states of an object. */
function checkRevisions(
  acknowledged: readonly Acknowledged[],
  { keptRevision, promoted, report }: { keptRevision: number; promoted: number; report: RolloutReport },
): void {
  const owners = new Map<number, Acknowledged>();
  const twice: string[] = [];
  const backwards: string[] = [];
  const highestLost = Math.max(
    keptRevision,
    ...acknowledged.filter(({ at }) => at < promoted).map(({ revision }) => revision),
  );
  for (const write of acknowledged) {
    const owner = owners.get(write.revision);
    if (owner !== undefined) twice.push(`${write.revision} for ${owner.marker} and ${write.marker}`);
    owners.set(write.revision, write);
    if (write.at > promoted && write.revision <= highestLost)
      backwards.push(`${write.marker} at ${write.revision}, ${Math.round(write.at - promoted)} ms after the promotion`);
  }
  report.check(
    'no revision is acknowledged twice',
    twice.length === 0,
    `${twice.length}: ${twice.slice(0, 3).join('; ')}`,
  );
  report.check(
    'no write after the failover is acknowledged at a revision that had been assigned before',
    backwards.length === 0,
    `${backwards.length} up to ${highestLost}: ${backwards.slice(0, 3).join('; ')}`,
  );
}

/** A lost revision must not count as a present one. */
async function checkOldRevisions({
  operator,
  lost,
  report,
  port,
}: {
  operator: RecordingClient;
  lost: readonly Acknowledged[];
  report: RolloutReport;
  port: number;
}): Promise<void> {
  const newest = lost.toSorted((a, b) => a.revision - b.revision).at(-1);
  if (newest === undefined) return;
  const { name, revision } = newest;
  const watched = await operator.api.request({
    port,
    path: `${pathOf(notes)}?watch=true&timeoutSeconds=1&resourceVersion=${revision}`,
  });
  report.check(
    'a watch from a lost revision is 410',
    watched.status === 410 || watched.text.includes('"code":410'),
    `${watched.status} ${watched.text.slice(0, 200)}`,
  );
  const listed = await operator.api.request({
    port,
    path: `${pathOf(notes)}?resourceVersion=${revision}&resourceVersionMatch=Exact&limit=1`,
  });
  report.check(
    'a list at exactly a lost revision is 410',
    listed.status === 410,
    `${listed.status} ${listed.text.slice(0, 200)}`,
  );
  const body = JSON.stringify(
    bodyOf(notes, { namespace: '', name }, { marker: 'stale', labels: {}, fields: {} }, revision),
  );
  const updated = await operator.api.request({ port, method: 'PUT', path: pathOf(notes, '', name), body });
  report.check(
    'an update from a lost revision is refused',
    [404, 409].includes(updated.status),
    `${updated.status} ${updated.text.slice(0, 200)}`,
  );
}

/** Whether it has that state or a later one, which an unacknowledged write may have made. */
function isAtLeast(present: string | undefined, state: string): boolean {
  return present !== undefined && Number(present.split(' at ')[1]) >= Number(state.split(' at ')[1]);
}
