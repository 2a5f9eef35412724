import { setTimeout as delay } from 'node:timers/promises';
import { makeModel } from '../../harness/workload/define-models.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { ApiClient, NoAnswer, type ApiRequest } from '../../harness/client/api-client.ts';
import { LineSplitter } from '../../harness/process/line-splitter.ts';
import { RecordingClient } from '../../harness/workload/recording-client.ts';
import { now } from '../../harness/history/instant.ts';
import { OperationLog } from '../../harness/workload/operation-log.ts';
import { bodyOf, notes, pathOf, type WireObject } from '../../harness/workload/sample-models.ts';
import type { Pod } from '../pod.ts';
import type { Ground } from './failover-asynchronous.ts';

const clients = 64;
const warmUpMs = 2000;
const measuredMs = 8000;
const mostReplicas = 3;
const apiPort = 8090;
const probes = 40;
const probePauseMs = 50;

/**
 * Throughput and latency of 64 clients at the load balancer with one, two and three API servers, and how soon one
 * server reports the writes of another.
 */
export async function measure({ cluster, credentials: { adminToken: token }, report }: Ground): Promise<void> {
  const port = cluster.port('apiserver');
  const operator = new RecordingClient({
    id: 1,
    targets: [{ name: 'the load balancer', port }],
    token,
    random: new SeededRandom(1),
    operationLog: new OperationLog(),
  });
  await makeModel({ operator, replicas: [{ name: 'the load balancer', port }], modelChanges: [] }, notes);
  await operator.api.request({ port, method: 'POST', path: pathOf(notes), body: noteText('read') });
  const deployment = cluster.deployment('apiserver');
  let created = 0;
  report.say('  replicas  what      a second   p50 ms   p99 ms   failed');
  for (let replicas = 1; replicas <= mostReplicas; replicas += 1) {
    await deployment.scale(replicas);
    // The load balancer's delay.
    await delay(warmUpMs);
    const kinds: [string, () => Omit<ApiRequest, 'port'>][] = [
      ['get', () => ({ path: pathOf(notes, '', 'read') })],
      ['create', () => ({ method: 'POST', path: pathOf(notes), body: noteText(`m-${(created += 1)}`) })],
    ];
    for (const [name, request] of kinds) {
      const { times, failed, seconds } = await load(token, () => ({ port, ...request() }));
      report.say(
        `  ${String(replicas).padStart(8)}  ${name.padEnd(8)} ${(times.length / seconds).toFixed(0).padStart(9)} ${quantile(times, 0.5).padStart(8)} ${quantile(times, 0.99).padStart(8)} ${String(failed).padStart(8)}`,
      );
      report.check(`no ${name} fails with ${replicas} replicas`, failed === 0, `${failed} failed`);
    }
  }
  const [writer, teller] = deployment.pods;
  if (writer === undefined || teller === undefined) return;
  const delays = await eventDelays(token, { writer, teller });
  report.say(
    `  from the sending of a create to one API server to its event from another: p50 ${quantile(delays, 0.5)} ms, p99 ${quantile(delays, 0.99)} ms, of ${delays.length}`,
  );
  report.check('every event of another replica arrives', delays.length === probes, `${delays.length} of ${probes}`);
  operator.api.close();
}

/** Clients in a closed loop. */
async function load(
  token: string,
  request: () => ApiRequest,
): Promise<{ times: number[]; failed: number; seconds: number }> {
  const api = Array.from({ length: clients }, () => new ApiClient({ token }));
  const times: number[] = [];
  let failed = 0;
  const began = now();
  const from = began + warmUpMs;
  const until = from + measuredMs;
  await Promise.all(
    api.map(async (client) => {
      for (let asked = now(); asked < until; asked = now()) {
        const isGood = await client.request(request()).then(
          ({ status }) => status < 300,
          (error: unknown) => {
            if (!(error instanceof NoAnswer)) throw error;
            return false;
          },
        );
        if (!isGood) failed += 1;
        else if (asked >= from) times.push(now() - asked);
      }
    }),
  );
  for (const client of api) client.close();
  return { times, failed, seconds: (now() - from) / 1000 };
}

/** Writes to one pod and watches the other, without the load balancer. */
async function eventDelays(token: string, { writer, teller }: { writer: Pod; teller: Pod }): Promise<number[]> {
  const base = (pod: Pod): string => `http://${pod.ip}:${apiPort}`;
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const giveUp = new AbortController();
  const asked = new Map<string, number>();
  const delays: number[] = [];
  const listed = (await (await fetch(`${base(teller)}${pathOf(notes)}?limit=1`, { headers })).json()) as {
    metadata: { resourceVersion: string };
  };
  const stream = await fetch(
    `${base(teller)}${pathOf(notes)}?watch=true&resourceVersion=${listed.metadata.resourceVersion}`,
    { headers, signal: giveUp.signal },
  );
  const hearing = (async () => {
    const lines = new LineSplitter();
    try {
      for await (const bytes of stream.body ?? []) {
        for (const line of lines.take(Buffer.from(bytes))) {
          const sent =
            line.trim() === ''
              ? undefined
              : asked.get((JSON.parse(line) as { object: WireObject }).object.metadata.name);
          if (sent !== undefined) delays.push(now() - sent);
        }
      }
    } catch (error) {
      if (!giveUp.signal.aborted) throw error;
    }
  })();
  for (let i = 0; i < probes; i += 1) {
    asked.set(`delay-${i}`, now());
    await fetch(`${base(writer)}${pathOf(notes)}`, { method: 'POST', headers, body: noteText(`delay-${i}`) }).then(
      (answer) => answer.arrayBuffer(),
    );
    await delay(probePauseMs);
  }
  await delay(warmUpMs);
  giveUp.abort();
  await hearing;
  return delays;
}

function noteText(name: string): string {
  return JSON.stringify(
    bodyOf(
      notes,
      { namespace: '', name },
      { marker: name, labels: {}, fields: { 'spec.category': 'c-1', 'spec.priority': 3 } },
    ),
  );
}

function quantile(values: readonly number[], share: number): string {
  const sorted = values.toSorted((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
}
