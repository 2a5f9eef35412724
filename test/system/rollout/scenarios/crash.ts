import { setTimeout as delay } from 'node:timers/promises';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { now } from '../../harness/history/instant.ts';
import { readEpoch } from '../read-epoch.ts';
import type { ScenarioContext } from '../scenario.ts';

const warmUpMs = 2000;
const settleMs = 2000;
const recoveryMs = 60_000;

/**
 * The primary is killed with all its processes, and started again: it recovers what it had acknowledged. Nothing is
 * lost, so no process ends, and no watch starts again.
 */
export async function crash({ cluster, traffic, report }: ScenarioContext): Promise<void> {
  const { pair } = cluster;
  await delay(warmUpMs);
  const endsBefore = new Map(cluster.pods.map((pod) => [pod, pod.ends.length]));
  const before = await readEpoch(pair);
  const { result: seconds, tally } = await traffic.during(
    'crash of the primary',
    async () => {
      await pair.primary.kill();
      await pair.primary.start();
      const back = now();
      await retryUntilTrue(() => traffic.hasWrittenSince(back), {
        what: 'writes go on after the crash',
        timeoutMs: recoveryMs,
      });
      const written = now();
      await retryUntilTrue(() => cluster.pods.every(({ isReady }) => isReady), {
        what: 'every pod is ready after the crash',
        timeoutMs: recoveryMs,
      });
      return (written - back) / 1000;
    },
    { afterMs: settleMs },
  );
  report.tally('crash of the primary', tally);
  report.say(`  a write was acknowledged ${seconds.toFixed(1)} s after the primary took connections again`);
  report.checkUndisturbed({ pods: cluster.pods, endsBefore, tally });
  const after = await readEpoch(pair);
  report.check(
    'a crash changes neither epoch nor gaps',
    after.epoch === before.epoch && after.gaps === before.gaps,
    JSON.stringify([before, after]),
  );
}
