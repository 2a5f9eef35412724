import { readFile } from 'node:fs/promises';
import { retryUntilTrue } from '../../harness/retry-until-true.ts';
import { now } from '../../harness/history/instant.ts';
import type { Pod } from '../pod.ts';
import { someOf, type ScenarioContext } from '../scenario.ts';
import { concurrency } from '../traffic.ts';

const watchers = 8;
/**
 * Requests sent before the loss of a process is known: a second for the proxy, and one for a slow machine.
 * Milliseconds.
 */
const noticeMs = 2000;
const readyTimeoutMs = 60_000;
const settleMs = 2500;
const takeoverMs = 45_000;
/** The promise is 20 s; the lease is polled. Milliseconds. */
const takeoverLimitMs = 25_000;
const requestTimeoutMs = 5000;
const leasePath = '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases/svc-controllers.namespaces';

/** Kills every process in turn (SIGKILL) under load: only its running requests may fail. */
export async function kill(stage: ScenarioContext): Promise<void> {
  const { cluster, isQuick } = stage;
  for (const deployment of cluster.deployments) {
    const pods = deployment.pods.slice(0, isQuick ? 1 : undefined);
    for (const pod of pods)
      await killOne(
        stage,
        isQuick && deployment.name.endsWith('controller-manager') ? (await untilLed(stage)).pod : pod,
      );
  }
}

async function killOne(stage: ScenarioContext, pod: Pod): Promise<void> {
  const { traffic, report } = stage;
  const led = await untilLed(stage);
  const killed = now();
  const ready = async (): Promise<number> => {
    const endsBefore = pod.ends.length;
    pod.kill();
    await retryUntilTrue(() => pod.ends.length > endsBefore, {
      what: `${pod.name} is gone`,
      timeoutMs: readyTimeoutMs,
    });
    await pod.ready(readyTimeoutMs);
    return now() - killed;
  };
  const ledAnew = async (): Promise<number | undefined> => {
    if (led.pod !== pod) return undefined;
    await retryUntilTrue(async () => ![undefined, led.identity].includes((await leader(stage)).identity), {
      what: 'another process leads the controller',
      timeoutMs: takeoverMs,
    });
    return now() - killed;
  };
  const {
    result: [readyMs, ledMs],
    tally,
  } = await traffic.during(`kill of ${pod.name}`, () => Promise.all([ready(), ledAnew()]), { afterMs: settleMs });
  report.tally(`kill of ${pod.name}, ready after ${(readyMs / 1000).toFixed(1)} s`, tally);
  const late = tally.failures.filter(({ invoked }) => invoked > killed + noticeMs);
  report.check(`what fails at the kill of ${pod.name} was in flight there`, late.length === 0, someOf(late));
  report.check(
    `no more fails at the kill of ${pod.name} than was in flight`,
    tally.failures.length <= concurrency + watchers,
    someOf(tally.failures),
  );
  if (ledMs === undefined) return;
  report.say(`  ${pod.name} had led a controller; another took over ${(ledMs / 1000).toFixed(1)} s after its end`);
  report.check(
    'another process leads the controller within 20 seconds',
    ledMs < takeoverLimitMs,
    `${Math.round(ledMs)} ms`,
  );
}

/** Waits until a process leads, as it always does except during a change. */
async function untilLed(stage: ScenarioContext): Promise<{ identity: string; pod: Pod }> {
  let led: Awaited<ReturnType<typeof leader>> = {};
  await retryUntilTrue(
    async () => {
      led = await leader(stage);
      return led.pod !== undefined;
    },
    { what: 'a pod leads the controller', timeoutMs: takeoverMs },
  );
  return led as { identity: string; pod: Pod };
}

/** The holder of one controller's lease, and the pod that logged this identity. */
async function leader({ cluster, credentials }: ScenarioContext): Promise<{ identity?: string; pod?: Pod }> {
  const answer = await fetch(`http://127.0.0.1:${cluster.port('apiserver')}${leasePath}`, {
    headers: { authorization: `Bearer ${credentials.adminToken}` },
    signal: AbortSignal.timeout(requestTimeoutMs),
  });
  if (!answer.ok) return {};
  const {
    spec: { holderIdentity: identity },
  } = (await answer.json()) as { spec: { holderIdentity?: string } };
  if (identity === undefined) return {};
  for (const pod of cluster.pods)
    if ((await readFile(pod.logFile, 'utf8')).includes(identity)) return { identity, pod };
  return { identity };
}
