import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Verdict } from '../harness/history/checker/check-history.ts';
import { errorLines } from '../harness/process/server-log.ts';
import { buildOfCommit } from '../harness/build/build-of-commit.ts';
import { Cluster } from './cluster.ts';
import { newCredentials, renderRelease } from './render-release.ts';
import type { RolloutOptions, ScenarioName } from './rollout-options.ts';
import type { RolloutReport, ScenarioContext } from './scenario.ts';
import { crash } from './scenarios/crash.ts';
import { failoverAsynchronous } from './scenarios/failover-asynchronous.ts';
import { failoverSynchronous } from './scenarios/failover-synchronous.ts';
import { kill } from './scenarios/kill.ts';
import { measure } from './scenarios/measure.ts';
import { upgrade } from './scenarios/upgrade.ts';
import { Traffic } from './traffic.ts';

/** Scenarios that share one cluster and one history, because no acknowledged write may be lost in any of them. */
const underTraffic: readonly [ScenarioName, (stage: ScenarioContext) => Promise<void>][] = [
  ['upgrade', upgrade],
  ['kill', kill],
  ['crash', crash],
  ['failover-synchronous', failoverSynchronous],
];

/**
 * Expected log lines: a process that ends because another PostgreSQL took over, and a leader that lost its lease during
 * the outage, in the words of this build and of earlier ones.
 */
const ofFailovers =
  /history that this process follows is gone|the lease could not be renewed in time|could not renew the lease in time/;

export interface RunOptions {
  /** Belongs to the test; the caller removes it. */
  folder: string;
  report: RolloutReport;
  onVerdict: (verdict: Verdict) => void;
}

/** Runs the selected scenarios; stops what it started, also on Ctrl-C. */
export async function runRollout(options: RolloutOptions, { folder, report, onVerdict }: RunOptions): Promise<void> {
  const { only, build } = options;
  const interrupted = interruption();
  const wanted = underTraffic.filter(([name]) => only.includes(name));
  if (wanted.length > 0) {
    const earlier = only.includes('upgrade')
      ? await buildOfCommit(options.from)
      : { commit: 'this checkout', folder: build };
    report.say(`from ${earlier.commit} to ${build}`);
    await onCluster(
      { folder: join(folder, 'traffic'), build: earlier.folder, report },
      async (cluster, credentials) => {
        const traffic = await Traffic.start(cluster, { credentials, seed: options.seed, isQuick: options.isQuick });
        try {
          const render = (folderOfBuild: string) =>
            renderRelease({ build: folderOfBuild, databaseUrl: cluster.databaseUrl, credentials });
          const stage: ScenarioContext = {
            cluster,
            traffic,
            credentials,
            report,
            isQuick: options.isQuick,
            releases: { from: await render(earlier.folder), to: await render(build) },
          };
          for (const [name, scenario] of wanted) {
            report.say(`\n${name}`);
            await Promise.race([scenario(stage), interrupted]);
          }
          report.say('\ncomparison of all answers to clients with the log');
          const { verdict, operations, events } = await Promise.race([traffic.conclude(), interrupted]);
          onVerdict(verdict);
          const violations = Object.values(verdict.counts).reduce((sum, count) => sum + count, 0);
          report.check(
            `the log agrees with the answers to clients in ${operations} requests and ${events} events`,
            violations === 0,
            `${violations} contradictions: ${verdict.violations[0]?.text ?? ''}`,
          );
          for (const problem of traffic.problems) report.check('the run has no problems of its own', false, problem);
        } finally {
          await traffic.abandon();
        }
      },
      interrupted,
    );
  }
  if (only.includes('failover-asynchronous')) {
    report.say('\nfailover-asynchronous');
    await onCluster(
      { folder: join(folder, 'asynchronous'), build, report },
      (cluster, credentials) => failoverAsynchronous({ cluster, credentials, report, isQuick: options.isQuick }),
      interrupted,
    );
  }
  if (only.includes('measure')) {
    report.say('\nmeasure');
    await onCluster(
      { folder: join(folder, 'measure'), build, report, replicas: 1 },
      (cluster, credentials) => measure({ cluster, credentials, report, isQuick: options.isQuick }),
      interrupted,
    );
  }
}

interface Ground {
  folder: string;
  build: string;
  report: RolloutReport;
  replicas?: number;
}

/** Starts a cluster, runs `work` on it, stops it, and reports its processes' log lines of level `error`. */
async function onCluster(
  { folder, build, report, replicas }: Ground,
  work: (cluster: Cluster, credentials: ReturnType<typeof newCredentials>) => Promise<void>,
  interrupted: Promise<never>,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const credentials = newCredentials();
  const cluster = await Cluster.start({
    folder,
    release: (databaseUrl) =>
      renderRelease({ build, databaseUrl, credentials, ...(replicas === undefined ? {} : { replicas }) }),
  });
  try {
    await Promise.race([work(cluster, credentials), interrupted]);
  } finally {
    const pods = cluster.deployments.flatMap(({ allPods }) => allPods);
    await cluster.stop();
    for (const { name, logFile } of pods) {
      const wrong = (await errorLines(logFile)).filter((line) => !ofFailovers.test(line));
      report.check(`${name} logs no error`, wrong.length === 0, wrong.slice(0, 3).join('; ').slice(0, 600));
    }
  }
}

/** Rejects on Ctrl-C, so that everything is stopped. */
function interruption(): Promise<never> {
  const promise = new Promise<never>((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('interrupted')));
  });
  // It may reject while nothing awaits it.
  promise.catch(() => undefined);
  return promise;
}
