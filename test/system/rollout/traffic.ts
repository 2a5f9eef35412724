import { setTimeout as delay } from 'node:timers/promises';
import { checkHistory, type Verdict } from '../harness/history/checker/check-history.ts';
import { concludeHistory, defineSampleModels, type RecordedRun } from '../harness/workload/conclude-history.ts';
import { Workload } from '../harness/workload/workload.ts';
import type { FaultRecord, ModelChangeRecord, Operation } from '../harness/history/history.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { ChangeLogRecorder } from '../harness/workload/change-log-recorder.ts';
import type { Target } from '../harness/workload/recording-client.ts';
import { now } from '../harness/history/instant.ts';
import { AccessClient } from './access-client.ts';
import type { Cluster } from './cluster.ts';
import type { Credentials } from './render-release.ts';

const writers = 44;
const readers = 16;
const accessClients = 4;
const gapMs = 500;
/** In addition to eight watchers. */
export const concurrency = writers + readers + accessClients;

/** A request or stream with an unexpected end. */
export interface Failure {
  invoked: number;
  at: number;
  what: string;
}

/** The results of a period. */
export interface Tally {
  answered: number;
  failures: Failure[];
  seconds: number;
}

/**
 * 64 clients at the load balancer, or 10 in a quick run, and eight watchers: all responses are recorded, and checked
 * against the log at the end.
 */
export class Traffic {
  readonly #run: RecordedRun;
  readonly #access: readonly AccessClient[];
  readonly problems: string[] = [];

  static async start(
    cluster: Cluster,
    { credentials, seed, isQuick }: { credentials: Credentials; seed: number; isQuick: boolean },
  ): Promise<Traffic> {
    const balancer: Target = { name: 'the load balancer', port: cluster.port('apiserver') };
    const workload = new Workload({
      targets: [balancer],
      token: credentials.adminToken,
      random: new SeededRandom(seed),
      writers: isQuick ? Math.ceil(writers / 12) : writers,
      readers: isQuick ? Math.ceil(readers / 12) : readers,
    });
    const modelChanges: ModelChangeRecord[] = [];
    const recorder = await ChangeLogRecorder.start(cluster.pair);
    const access = Array.from(
      { length: accessClients },
      (_, i) =>
        new AccessClient({
          id: i + 1,
          accessPort: cluster.port('access-server'),
          platformPort: balancer.port,
          adminToken: credentials.adminToken,
          password: credentials.adminPassword,
        }),
    );
    const problems: string[] = [];
    const traffic = new Traffic(
      { seed, workload, recorder, database: cluster.pair, replicas: [balancer], modelChanges, faults: [], problems },
      access,
    );
    await defineSampleModels({ workload, replicas: [balancer], modelChanges });
    workload.start();
    for (const client of access) client.start();
    return traffic;
  }

  private constructor(run: RecordedRun, access: readonly AccessClient[]) {
    this.#run = run;
    this.#access = access;
    this.problems = run.problems;
  }

  /** Runs `work`, and returns the results of requests from its start until `afterMs` after its end. */
  async during<Result>(
    name: string,
    work: () => Promise<Result>,
    { afterMs = 1500 } = {},
  ): Promise<{ result: Result; tally: Tally }> {
    const record: FaultRecord = { name, started: now() };
    this.#run.faults.push(record);
    const doneBefore = this.#done();
    const result = await work();
    await delay(afterMs);
    record.ended = now();
    return { result, tally: this.#tally(record.started, record.ended, this.#done() - doneBefore) };
  }

  /**
   * Periods since this moment without an acknowledged write, longer than half a second; the last may be unfinished.
   * Milliseconds.
   */
  gaps(since: number): { from: number; to: number }[] {
    const times = this.#run.workload.operationLog.operations
      .filter((operation) => operation.completed >= since && isWrite(operation) && operation.outcome.type === 'ok')
      .map(({ completed }) => completed);
    const all = [since, ...times.toSorted((a, b) => a - b), now()];
    return all
      .slice(1)
      .map((to, i) => ({ from: all[i] ?? to, to }))
      .filter(({ from, to }) => to - from > gapMs);
  }

  /** Effective writes that were acknowledged after this moment, whenever they were sent. */
  acknowledgedSince(moment: number): number {
    return this.#run.workload.operationLog.operations.filter(
      (operation) => operation.completed >= moment && isCommit(operation),
    ).length;
  }

  /** Whether a write that was sent after this moment has been acknowledged. */
  hasWrittenSince(moment: number): boolean {
    return this.#run.workload.operationLog.operations.some(
      (operation) => operation.invoked >= moment && isWrite(operation) && operation.outcome.type === 'ok',
    );
  }

  /** Ends the workload, and checks all responses against the log of the present primary. */
  async conclude(): Promise<{ verdict: Verdict; operations: number; events: number }> {
    await Promise.all(this.#access.map((client) => client.stop()));
    const history = await concludeHistory(this.#run);
    const {
      workload: { operationLog, watchers },
    } = this.#run;
    return {
      verdict: checkHistory(history),
      operations: operationLog.operations.length,
      events: watchers.reduce((sum, watcher) => sum + watcher.events, 0),
    };
  }

  /** For an aborted run. */
  async abandon(): Promise<void> {
    await Promise.all([...this.#access.map((client) => client.stop()), this.#run.workload.stop()]);
  }

  #done(): number {
    return this.#access.reduce((sum, client) => sum + client.done, 0);
  }

  #tally(from: number, to: number, accessDone: number): Tally {
    const isWithin = (at: number): boolean => at >= from && at <= to;
    const { operationLog, watchers } = this.#run.workload;
    const operations = operationLog.operations.filter(({ completed }) => isWithin(completed));
    const failures: Failure[] = operations.flatMap((operation) => {
      const what = failureOf(operation);
      return what === undefined
        ? []
        : [
            {
              invoked: operation.invoked,
              at: operation.completed,
              what: `${operation.verb} ${operation.model}: ${what}`,
            },
          ];
    });
    for (const { streams } of watchers.map(({ record }) => record)) {
      for (const { ended, opened } of streams) {
        if (!isWithin(ended.at) || !['broken', 'refused', 'failed', 'expired'].includes(ended.type)) continue;
        failures.push({
          invoked: opened,
          at: ended.at,
          what: `a watch ended ${ended.type}: ${'status' in ended ? `${ended.status} ${ended.message ?? ''}` : (ended.error ?? '')}`,
        });
      }
    }
    for (const { failures: own } of this.#access) failures.push(...own.filter(({ at }) => isWithin(at)));
    return { answered: operations.length + accessDone - failures.length, failures, seconds: (to - from) / 1000 };
  }
}

/** Undefined for a success, for a refusal that the checker verifies, and for a request that the client cut. */
function failureOf({ outcome }: Operation): string | undefined {
  if (outcome.type === 'unknown')
    return outcome.error === 'cut by the client' ? undefined : `${outcome.status ?? ''} ${outcome.error}`.trim();
  if (outcome.type !== 'refused') return undefined;
  const isTransient = outcome.status === 429 && outcome.retryAfter === true;
  return [403, 408, 429].includes(outcome.status) && !isTransient
    ? `${outcome.status} ${outcome.message ?? outcome.reason}`
    : undefined;
}

/** A write that took effect: neither a repeated response nor a deletion of nothing. */
function isCommit({ verb, outcome }: Operation): boolean {
  if (outcome.type !== 'ok' || verb === 'get' || verb === 'list') return false;
  return 'deleted' in outcome ? outcome.deleted.length > 0 : !('replayed' in outcome);
}

function isWrite({ verb }: Operation): boolean {
  return verb !== 'get' && verb !== 'list';
}
