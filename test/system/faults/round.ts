import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { newPersonalToken } from '#pkg/identity/index';
import type { TestCluster } from './test-cluster.ts';
import { concludeHistory, defineSampleModels } from '../harness/workload/conclude-history.ts';
import { Workload } from '../harness/workload/workload.ts';
import { FaultPostgres } from './fault-postgres.ts';
import { runFaults, type FaultOutcome } from './fault-run.ts';
import type { Fault } from './fault.ts';
import type { FaultRecord, History, ModelChangeRecord } from '../harness/history/history.ts';
import { faults } from './kinds/fault-table.ts';
import { SeededRandom } from '../harness/seeded-random.ts';
import { ChangeLogRecorder } from '../harness/workload/change-log-recorder.ts';
import { untilInterrupted } from '../harness/run/run-main.ts';
import { errorLines } from '../harness/process/server-log.ts';
import { Replica } from './replica.ts';
import { now } from '../harness/history/instant.ts';

const warmUpMs = 3000;

export interface RoundOptions {
  seed: number;
  seconds: number;
  kinds: readonly Fault[];
  pairs: boolean;
  /** Of each server. */
  workers: number;
  /** The second server reads from a standby. */
  hasStandby: boolean;
  /** Called with each fault when it is over. */
  onFault: (outcome: FaultOutcome) => void;
}

export interface RoundResult {
  history: History;
  outcomes: FaultOutcome[];
  /** Problems that the history does not show: hangs, ended processes, log lines. */
  problems: string[];
  operations: number;
  events: number;
  /** Contains the logs; the data is deleted. */
  folder: string;
}

/** One run on a fresh database, from its creation to the final list. */
export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-faults-'));
  // PostgreSQL may run as another user.
  await chmod(folder, 0o755);
  const postgres = await FaultPostgres.startIn(folder, options);
  const replicas: Replica[] = [];
  try {
    const token = newPersonalToken();
    const { standby } = postgres;
    const common = { folder, postgres, token, workers: options.workers };
    replicas.push(await Replica.start({ ...common, name: 'replica-a' }));
    replicas.push(await Replica.start({ ...common, name: 'replica-b', standby }));
    const round = new Round(options, { postgres, replicas: replicas as [Replica, Replica], token, folder });
    return await untilInterrupted(round.run());
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await postgres.stop();
    for (const data of ['postgres', 'standby']) await rm(join(folder, data), { recursive: true, force: true });
  }
}

class Round {
  readonly #options: RoundOptions;
  readonly #folder: string;
  readonly #cluster: TestCluster;
  readonly #workload: Workload;
  readonly #random: SeededRandom;
  readonly #records: FaultRecord[] = [];
  readonly #outcomes: FaultOutcome[] = [];
  readonly #problems: string[] = [];
  readonly #began = now();

  constructor(
    options: RoundOptions,
    {
      postgres,
      replicas,
      token,
      folder,
    }: Pick<TestCluster, 'postgres' | 'replicas'> & { token: string; folder: string },
  ) {
    this.#options = options;
    this.#folder = folder;
    this.#random = new SeededRandom(options.seed);
    this.#workload = new Workload({ targets: replicas, token, random: this.#random });
    const { operator, writers, watchers } = this.#workload;
    const modelChanges: ModelChangeRecord[] = [];
    this.#cluster = { postgres, replicas, operator, writers, watchers, modelChanges };
  }

  async run(): Promise<RoundResult> {
    const { postgres, replicas, modelChanges } = this.#cluster;
    const recorder = await ChangeLogRecorder.start(postgres);
    await defineSampleModels({ workload: this.#workload, replicas, modelChanges });
    this.#workload.start();
    await delay(warmUpMs);
    await this.#injectAll(this.#workload.operationLog.goodput(warmUpMs / 2));
    const history = await concludeHistory({
      seed: this.#options.seed,
      workload: this.#workload,
      recorder,
      database: postgres,
      replicas,
      modelChanges,
      faults: this.#records,
      problems: this.#problems,
    });
    for (const { logFile, unexpectedEnds } of replicas) {
      this.#problems.push(...unexpectedEnds, ...(await errorLines(logFile)));
    }
    const { operationLog, watchers } = this.#workload;
    return {
      history,
      outcomes: this.#outcomes,
      problems: this.#problems,
      operations: operationLog.operations.length,
      events: watchers.reduce((sum, watcher) => sum + watcher.events, 0),
      folder: this.#folder,
    };
  }

  /** Every kind once, in the order of the seed, then random ones until the time is over. */
  async #injectAll(normal: number): Promise<void> {
    const { kinds, pairs, seconds, onFault } = this.#options;
    const random = this.#random.fork('faults');
    const operationLog = this.#workload.operationLog;
    const deadline = now() + seconds * 1000 - warmUpMs;
    let left = random.shuffled(kinds);
    for (let isFirst = true; isFirst || now() < deadline;) {
      const together = pairs && left.slice(0, 2).every(({ isAlone }) => isAlone !== true);
      const chosen = left.splice(0, together ? 2 : 1);
      const outcome = await runFaults(chosen, {
        cluster: this.#cluster,
        random,
        operationLog,
        records: this.#records,
        normal,
        began: this.#began,
      });
      this.#outcomes.push(outcome);
      this.#problems.push(...outcome.failures);
      onFault(outcome);
      if (left.length > 0) continue;
      isFirst = false;
      left = random.shuffled(kinds);
    }
  }
}

/** Kinds that never took effect. */
export function untried(outcomes: readonly FaultOutcome[], kinds: readonly Fault[] = faults): Fault[] {
  const tried = new Set(
    outcomes.filter(({ skipped }) => skipped === undefined).flatMap(({ names }) => names.split(' + ')),
  );
  return kinds.filter(({ name }) => !tried.has(name));
}
