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
import type { CaseOptions, Ground } from '../cluster/on-servers.ts';

/** Clients of both servers, and writers of one server alone, which tell when that server works again. */
const writers = 4;
const readers = 2;
const ownWriters = 2;
const firstOwnWriter = 81;
const warmUpMs = 3000;

export interface UnderWorkload {
  /** All requests so far, in the order of their ends. */
  operations: readonly Operation[];
  /** Runs one fault or change, after some time without any. */
  during: <Result>(name: string, work: () => Promise<Result>) => Promise<Result>;
}

export interface WorkloadOptions extends Pick<CaseOptions, 'seed' | 'report'> {
  /** Stale answers that are described so are counted, and are no failure. Default: none. */
  mayBeStale?: RegExp;
}

/** Runs `work` while clients write, read and watch, and checks that what they saw is one history without a loss. */
export async function underWorkload(
  { cluster, servers, token }: Ground,
  { seed, report, mayBeStale }: WorkloadOptions,
  work: (workload: UnderWorkload) => Promise<void>,
): Promise<void> {
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
  try {
    await defineSampleModels(run);
    workload.start();
    for (const writer of own) writer.start();
    await work({
      operations: operationLog.operations,
      during: async (name, change) => {
        await delay(warmUpMs);
        const record: FaultRecord = { name, started: now() };
        faults.push(record);
        const result = await change();
        record.ended = now();
        return result;
      },
    });
    await delay(warmUpMs);
    await Promise.all(own.map((writer) => writer.stop()));
    await judge(run, { report, mayBeStale });
  } finally {
    await Promise.all([...own.map((writer) => writer.stop()), workload.stop()]);
    for (const { client } of own) client.api.close();
    await run.recorder.stop().catch(() => undefined);
  }
}

/** The revision of an acknowledged create, update or patch. */
export function writtenRevision({ verb, outcome }: Operation): number | undefined {
  if (outcome.type !== 'ok' || verb === 'get' || !('object' in outcome)) return undefined;
  return outcome.object.revision;
}

async function judge(
  run: RecordedRun,
  { report, mayBeStale }: Pick<WorkloadOptions, 'report'> & { mayBeStale: RegExp | undefined },
): Promise<void> {
  const history = await concludeHistory(run);
  const { recorder, problems } = run;
  const { operations } = run.workload.operationLog;
  const verdict = checkHistory(history, { tolerable: mayBeStale });
  verdictLines(verdict).forEach((line) => report.say(line));
  const kept = new Set(recorder.rows.map(({ revision }) => revision));
  for (const revision of recorder.lost) kept.delete(revision);
  const acknowledged = new Set(operations.flatMap((operation) => writtenRevision(operation) ?? []));
  const lost = [...acknowledged].filter((revision) => !kept.has(revision));
  const expired = history.watchers.flatMap(({ id, streams }) =>
    streams.flatMap(({ ended }) => (ended.type === 'expired' ? [`watcher ${id}: ${ended.message ?? ''}`] : [])),
  );
  const { violations } = verdict;
  const watchGaps = violations.filter(({ rule }) => rule.startsWith('watch'));
  const resumed = verdict.statistics['watches resumed'] ?? 0;
  report.say(
    `  ${acknowledged.size} writes acknowledged, ${lost.length} lost; ${resumed} watches resumed, ${watchGaps.length} gaps, ${expired.length} answered 410`,
  );
  report.check('no acknowledged write is lost', lost.length === 0, lost.slice(0, 5).join(', '));
  report.check('no watch is answered 410', expired.length === 0, expired.slice(0, 3).join('; '));
  report.check('no watch has a gap', watchGaps.length === 0, watchGaps[0]?.text);
  report.check(
    `the log agrees with the answers to clients in ${operations.length} requests`,
    violations.length === 0,
    violations[0]?.text,
  );
  for (const problem of problems) report.check('the run has no problems of its own', false, problem);
}
