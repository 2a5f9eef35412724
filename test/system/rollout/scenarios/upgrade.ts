import { setTimeout as delay } from 'node:timers/promises';
import type { Release } from '../deployment.ts';
import type { ContainerEnd } from '../pod.ts';
import { someOf, type ScenarioContext } from '../scenario.ts';

const warmUpMs = 2000;
/** Longer than a watch of these clients. Milliseconds. */
const settleMs = 3000;

/** Rolls every component to the new release under load, and back: no request may fail. */
export async function upgrade(stage: ScenarioContext): Promise<void> {
  const { releases, isQuick, report, traffic } = stage;
  await delay(warmUpMs);
  await roll(stage, 'upgrade', releases.to);
  if (isQuick) return;
  await roll(stage, 'rollback', releases.from);
  await roll(stage, 'upgrade again', releases.to);
  report.check('the traffic has no problem of its own', traffic.problems.length === 0, traffic.problems.join('; '));
}

async function roll({ cluster, traffic, report }: ScenarioContext, name: string, release: Release): Promise<void> {
  for (const deployment of cluster.deployments) {
    const { result: ends, tally } = await traffic.during(
      `${name} of ${deployment.name}`,
      () => deployment.rollTo(release),
      { afterMs: settleMs },
    );
    report.tally(`${name} of ${deployment.name}`, tally);
    report.check(
      `no request fails during the ${name} of ${deployment.name}`,
      tally.failures.length === 0,
      someOf(tally.failures),
    );
    report.check(`requests were sent during the ${name} of ${deployment.name}`, tally.answered > 0);
    for (const end of ends)
      report.check(`a pod of ${deployment.name} ends by the rules at SIGTERM`, end.code === 0, textOf(end));
    for (const pod of deployment.allPods)
      report.check(`${pod.name} did not end by itself`, pod.ends.length === 0, JSON.stringify(pod.ends));
  }
}

function textOf({ code, signal, tookMs }: ContainerEnd): string {
  return `it ended with ${signal ?? `code ${code}`} after ${tookMs} ms`;
}
