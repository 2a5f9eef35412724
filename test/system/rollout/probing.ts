import { pause } from '#pkg/apimachinery/index';
import type { ContainerSpec, ProbeSpec } from './manifests.ts';

/**
 * Probes a container at the times of its spec, until `signal`; calls `tell` for each change of its result, by the
 * thresholds.
 */
export async function probe(
  spec: ProbeSpec,
  { url, signal, tell }: { url: string; signal: AbortSignal; tell: (isPassing: boolean) => void },
): Promise<void> {
  const {
    initialDelaySeconds = 0,
    periodSeconds = 10,
    timeoutSeconds = 1,
    failureThreshold = 3,
    successThreshold = 1,
  } = spec;
  let successes = 0;
  let failures = 0;
  await pause(initialDelaySeconds * 1000, signal);
  while (!signal.aborted) {
    const isGood = await passes(url, timeoutSeconds * 1000, signal);
    if (signal.aborted) return;
    successes = isGood ? successes + 1 : 0;
    failures = isGood ? 0 : failures + 1;
    if (successes === successThreshold) tell(true);
    if (failures === failureThreshold) tell(false);
    await pause(periodSeconds * 1000, signal);
  }
}

async function passes(url: string, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(url, {
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      headers: { connection: 'close' },
    });
    await answer.arrayBuffer();
    return answer.ok;
  } catch {
    return false;
  }
}

/** The URL of a probe; undefined for an unsupported one. */
export function probeUrl({ httpGet }: ProbeSpec, container: ContainerSpec, ip: string): string {
  if (httpGet === undefined) throw new Error(`the container ${container.name} has a probe that is not httpGet`);
  if (httpGet.scheme === 'HTTPS')
    throw new Error(`the container ${container.name} is probed over HTTPS: render the chart without TLS`);
  return `http://${ip}:${portOf(httpGet.port, container)}${httpGet.path}`;
}

/** A port by number, or by the container's name for it. */
export function portOf(port: number | string, container: ContainerSpec): number {
  if (typeof port === 'number') return port;
  const named = container.ports?.find(({ name }) => name === port)?.containerPort;
  if (named === undefined) throw new Error(`the container ${container.name} has no port ${port}`);
  return named;
}
