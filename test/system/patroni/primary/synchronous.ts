import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { checkHistory } from '../../harness/history/checker/check-history.ts';
import { verdictLines } from '../../harness/history/checker/verdict-lines.ts';
import type { FaultRecord, Operation } from '../../harness/history/history.ts';
import { now } from '../../harness/history/instant.ts';
import { SeededRandom } from '../../harness/seeded-random.ts';
import { ChangeLogRecorder } from '../../harness/workload/change-log-recorder.ts';
import { concludeHistory, defineSampleModels, type RecordedRun } from '../../harness/workload/conclude-history.ts';
import { RecordingClient } from '../../harness/workload/recording-client.ts';
import { Workload } from '../../harness/workload/workload.ts';
import { Writer } from '../../harness/workload/writer.ts';
import { changePrimary, shuffledChanges, type WantedWrite } from './change-primary.ts';
import { onServers, type CaseOptions } from '../cluster/on-servers.ts';
import { outageLine, outageLines, type Outage } from './outage-table.ts';
import type { Recipe } from '../cluster/patroni-cluster.ts';

/** Clients of both servers, and writers of one server alone, which tell when that server works again. */
const writers = 4;
const readers = 2;
const ownWriters = 2;
const firstOwnWriter = 81;
const warmUpMs = 3000;

/**
 * Three PostgreSQL servers; a commit waits for a standby. Nothing that was acknowledged or seen may be lost, so no
 * server may end, and no watch may start again.
 */
export async function synchronous(options: CaseOptions): Promise<void> {
  const { report, seed, count } = options;
  report.say(`${count} switchovers and ${count} kills of the primary`);
  const folder = join(options.folder, 'synchronous');
  await onServers({ folder, size: 3, isSynchronous: true, report }, async ({ cluster, servers, token }) => {
    const random = new SeededRandom(seed);
    const workload = new Workload({ targets: servers, token, random, writers, readers });
    const { operationLog } = workload;
    const own = servers.flatMap((server, i) =>
      Array.from({ length: ownWriters }, (_, j) => {
        const id = firstOwnWriter + i * ownWriters + j;
        return new Writer(
          new RecordingClient({ id, targets: [server], token, random: random.fork(`client ${id}`), operationLog }),
        );
      }),
    );
    const faults: FaultRecord[] = [];
    const run: RecordedRun = {
      seed,
      workload,
      recorder: await ChangeLogRecorder.start(cluster),
      database: cluster,
      replicas: servers,
      modelChanges: [],
      faults,
      problems: [],
    };
    const outages: Outage[] = [];
    try {
      await defineSampleModels(run);
      workload.start();
      for (const writer of own) writer.start();
      for (const kind of shuffledChanges(options)) {
        await delay(warmUpMs);
        const from = operationLog.operations.length;
        const record: FaultRecord = { name: kind, started: now() };
        faults.push(record);
        const outage = await changePrimary({
          cluster,
          kind,
          firstAcknowledged: (recipe, wanted) => firstWritten(operationLog.operations, { from, recipe, wanted }),
        });
        record.ended = now();
        outages.push(outage);
        report.say(outageLine(outage));
      }
      await delay(warmUpMs);
      await Promise.all(own.map((writer) => writer.stop()));
      await judge(run, { report, outages });
    } finally {
      await Promise.all([...own.map((writer) => writer.stop()), workload.stop()]);
      for (const { client } of own) client.api.close();
      await run.recorder.stop().catch(() => undefined);
    }
  });
}

/** When a server first acknowledged the write, among the operations from this one. */
function firstWritten(
  operations: readonly Operation[],
  { from, recipe, wanted }: { from: number; recipe: Recipe; wanted: WantedWrite },
): number | undefined {
  for (let i = from; i < operations.length; i += 1) {
    const operation = operations[i]!;
    if (operation.replica !== recipe || operation.completed < wanted.since) continue;
    if ((writtenRevision(operation) ?? 0) > wanted.above) return operation.completed;
  }
  return undefined;
}

/** The revision of an acknowledged create, update or patch. */
function writtenRevision({ verb, outcome }: Operation): number | undefined {
  if (outcome.type !== 'ok' || verb === 'get' || !('object' in outcome)) return undefined;
  return outcome.object.revision;
}

async function judge(
  run: RecordedRun,
  { report, outages }: { report: CaseOptions['report']; outages: readonly Outage[] },
): Promise<void> {
  const history = await concludeHistory(run);
  const { recorder, problems } = run;
  const { operations } = run.workload.operationLog;
  const verdict = checkHistory(history);
  verdictLines(verdict).forEach((line) => report.say(line));
  const kept = new Set(recorder.rows.map(({ revision }) => revision));
  for (const revision of recorder.lost) kept.delete(revision);
  const acknowledged = new Set(operations.flatMap((operation) => writtenRevision(operation) ?? []));
  const lost = [...acknowledged].filter((revision) => !kept.has(revision));
  const expired = history.watchers.flatMap(({ id, streams }) =>
    streams.flatMap(({ ended }) => (ended.type === 'expired' ? [`watcher ${id}: ${ended.message ?? ''}`] : [])),
  );
  const watchGaps = Object.entries(verdict.counts).filter(([rule, count]) => rule.startsWith('watch') && count > 0);
  const resumed = verdict.statistics['watches resumed'] ?? 0;
  report.say(
    `  ${acknowledged.size} writes acknowledged, ${lost.length} lost; ${resumed} watches resumed, ${watchGaps.length} rules broken, ${expired.length} answered 410`,
  );
  for (const line of outageLines(outages)) report.say(line);
  report.check('no acknowledged write is lost', lost.length === 0, lost.slice(0, 5).join(', '));
  report.check('no watch is answered 410', expired.length === 0, expired.slice(0, 3).join('; '));
  report.check('no watch has a gap', watchGaps.length === 0, watchGaps.join('; '));
  report.check(
    `the log agrees with the answers to clients in ${operations.length} requests`,
    Object.keys(verdict.counts).length === 0,
    verdict.violations[0]?.text,
  );
  for (const problem of problems) report.check('the run has no problems of its own', false, problem);
}
