import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ServerProcess } from '../../harness/process/server-process.ts';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { now } from '../../harness/history/instant.ts';
import { postgresPort } from '../postgres-node.ts';
import { readEpoch } from '../read-epoch.ts';
import type { ScenarioContext } from '../scenario.ts';

const warmUpMs = 2000;
const settleMs = 3000;
const standbyNoticeMs = 2000;
/** Longer than a server waits for a batch: then it ends the session, and reads the outcome. Milliseconds. */
const standbyAwayMs = 22_000;
/** Until writes succeed and every pod is ready again. Milliseconds. */
const recoveryMs = 60_000;
const startTimeoutMs = 90_000;

/**
 * The primary is killed while a standby has every acknowledged write; after the failover the final comparison must find
 * each of them. Nobody has seen anything that was lost, so no process ends, and no watch starts again.
 */
export async function failoverSynchronous(stage: ScenarioContext): Promise<void> {
  const { cluster, traffic, report } = stage;
  const { pair } = cluster;
  await pair.setSynchronous(true);
  await refusesStandby(stage);
  if (!stage.isQuick) await waitsForStandby(stage);
  await delay(warmUpMs);
  const endsBefore = new Map(cluster.pods.map((pod) => [pod, pod.ends.length]));
  const before = await readEpoch(pair);
  const killed = now();
  const { result, tally } = await traffic.during(
    'failover to a synchronous standby',
    async () => {
      await pair.failOver();
      const promoted = now();
      await retryUntilTrue(() => traffic.hasWrittenSince(promoted), {
        what: 'writes go on after the failover',
        timeoutMs: recoveryMs,
      });
      const written = now();
      await retryUntilTrue(() => cluster.pods.every(({ isReady }) => isReady), {
        what: 'every pod is ready after the failover',
        timeoutMs: recoveryMs,
      });
      return { promoted, written, ready: now() };
    },
    { afterMs: settleMs },
  );
  report.tally('failover, synchronous', tally);
  report.say(
    `  promoted ${seconds(result.promoted - killed)} after the kill; a write was acknowledged ${seconds(result.written - result.promoted)} after that, and all pods were ready ${seconds(result.ready - result.promoted)} after it`,
  );
  for (const { from, to } of traffic.gaps(killed))
    report.say(`  no write was acknowledged for ${seconds(to - from)}, from ${seconds(from - killed)} after the kill`);
  report.checkUndisturbed({ pods: cluster.pods, endsBefore, tally });
  const after = await readEpoch(pair);
  report.check(
    'a failover makes one gap, and keeps the epoch',
    after.epoch === before.epoch && after.gaps === before.gaps + 1,
    JSON.stringify([before, after]),
  );
  // Like an operator: the old primary returns as a synchronous standby.
  await pair.addStandby();
  await pair.setSynchronous(true);
  report.say('  the old primary is a synchronous standby again');
}

/** While the only standby is disconnected, no write is acknowledged, because only one machine would have it. */
async function waitsForStandby({ cluster, traffic, report }: ScenarioContext): Promise<void> {
  const { standby } = cluster.pair;
  const { tally } = await traffic.during('the synchronous standby is away', async () => {
    await standby.kill();
    const away = now();
    // Earlier writes may still be in transit.
    await delay(standbyNoticeMs);
    const from = now();
    await delay(standbyAwayMs);
    const acknowledged = traffic.acknowledgedSince(from);
    report.check(
      'no write is acknowledged while the synchronous standby is away',
      acknowledged === 0,
      `${acknowledged} were, within ${Math.round(now() - away)} ms after it was killed`,
    );
    await standby.start();
    const back = now();
    await retryUntilTrue(() => traffic.hasWrittenSince(back), {
      what: 'writes go on when the standby is back',
      timeoutMs: recoveryMs,
    });
  });
  report.tally(`the synchronous standby away for ${Math.round((standbyNoticeMs + standbyAwayMs) / 1000)} s`, tally);
}

/** A process must not start on a standby. */
async function refusesStandby({ cluster, report, releases }: ScenarioContext): Promise<void> {
  const { standby } = cluster.pair;
  const cwd = join(cluster.folder, 'misled');
  await mkdir(cwd, { recursive: true });
  const url = `postgres://svc:not-asked-for@${standby.host}:${postgresPort}/svc`;
  const server = new ServerProcess({
    build: releases.to.build,
    command: 'apiserver',
    folder: cwd,
    env: { SVC_DATABASE_URL: url, SVC_SERVER_PORT: '0', SVC_DATA_DIR: cwd },
  });
  const late = setTimeout(() => server.signal('SIGKILL'), startTimeoutMs);
  const code = await server.exited;
  clearTimeout(late);
  const words = server.log();
  report.say(`  on a standby a start fails: ${words.trim()}`);
  report.check(
    'a start on a standby fails with one sentence',
    code === 1 && /^svc: [^\n]+\n?$/.test(words) && !words.includes('fault of this program'),
    `code ${code}: ${words}`,
  );
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
