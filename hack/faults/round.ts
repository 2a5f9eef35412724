import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { newPersonalToken } from '#pkg/identity/index';
import type { Arena } from './arena.ts';
import { Crowd } from './crowd.ts';
import { makeModel } from './definitions.ts';
import { FaultPostgres } from './fault-postgres.ts';
import { describe, runFaults, type FaultOutcome } from './fault-run.ts';
import type { Fault } from './fault.ts';
import type { FaultRecord, History, ModelChangeRecord } from './history.ts';
import { faults } from './kinds/fault-table.ts';
import { Random } from './random.ts';
import { Recorder } from './recorder.ts';
import { wrongLines } from './replica-log.ts';
import { Replica } from './replica.ts';
import { until } from './until.ts';
import { now } from './workload/instant.ts';
import { readList } from './workload/read-list.ts';
import { namespaces, namespacesPath, sampleModels } from './workload/sample-models.ts';

const warmUpMs = 3000;
/** A watcher hears by the end of its stream, if by nothing else, how far it is. */
const settleMs = 60_000;

export interface RoundOptions {
  seed: number;
  seconds: number;
  kinds: readonly Fault[];
  pairs: boolean;
  /** Told of each fault when it is over. */
  onFault: (outcome: FaultOutcome) => void;
}

export interface RoundResult {
  history: History;
  outcomes: FaultOutcome[];
  /** What went wrong beside what the history shows: hangs, processes that ended, lines of their logs. */
  problems: string[];
  operations: number;
  events: number;
  /** With the logs; the data is gone. */
  folder: string;
}

/** One run on a fresh database, from its making to the last list. */
export async function runRound(options: RoundOptions): Promise<RoundResult> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-faults-'));
  // PostgreSQL may run as another user than we.
  await chmod(folder, 0o755);
  const postgres = await FaultPostgres.start(folder);
  const replicas: Replica[] = [];
  try {
    const token = newPersonalToken();
    for (const name of ['replica-a', 'replica-b']) replicas.push(await Replica.start({ name, folder, postgres, token }));
    const round = new Round(options, { postgres, replicas: replicas as [Replica, Replica], token, folder });
    return await Promise.race([round.run(), interruption()]);
  } finally {
    await Promise.all(replicas.map((replica) => replica.stop()));
    await postgres.stop();
    await rm(join(folder, 'postgres'), { recursive: true, force: true });
  }
}

/** Rejects on Ctrl-C, so that what was started is stopped. */
function interruption(): Promise<never> {
  return new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => reject(new Error('interrupted')));
  });
}

class Round {
  readonly #options: RoundOptions;
  readonly #folder: string;
  readonly #arena: Arena;
  readonly #crowd: Crowd;
  readonly #random: Random;
  readonly #records: FaultRecord[] = [];
  readonly #outcomes: FaultOutcome[] = [];
  readonly #problems: string[] = [];
  readonly #began = now();

  constructor(options: RoundOptions, { postgres, replicas, token, folder }: Pick<Arena, 'postgres' | 'replicas'> & { token: string; folder: string }) {
    this.#options = options;
    this.#folder = folder;
    this.#random = new Random(options.seed);
    this.#crowd = new Crowd({ targets: replicas, token, random: this.#random });
    const { operator, writers, watchers } = this.#crowd;
    const modelChanges: ModelChangeRecord[] = [];
    this.#arena = { postgres, replicas, operator, writers, watchers, modelChanges };
  }

  async run(): Promise<RoundResult> {
    const recorder = await Recorder.start(this.#arena.postgres);
    await this.#prepare();
    this.#crowd.start();
    await delay(warmUpMs);
    await this.#injectAll(this.#crowd.book.goodput(warmUpMs / 2));
    await this.#crowd.settle();
    await this.#heardOfEverything();
    const history = await this.#conclude(recorder);
    for (const { logFile, unexpectedEnds } of this.#arena.replicas) {
      this.#problems.push(...unexpectedEnds, ...(await wrongLines(logFile)));
    }
    const { book, watchers } = this.#crowd;
    return {
      history,
      outcomes: this.#outcomes,
      problems: this.#problems,
      operations: book.operations.length,
      events: watchers.reduce((sum, watcher) => sum + watcher.events, 0),
      folder: this.#folder,
    };
  }

  async #prepare(): Promise<void> {
    const { operator, replicas } = this.#arena;
    for (const name of namespaces.slice(1)) {
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      await operator.api.request({ port: replicas[0].port, method: 'POST', path: namespacesPath, body });
    }
    for (const model of sampleModels) await makeModel(this.#arena, model);
  }

  /** Every kind once, in the order of the seed, then by chance until time is over. */
  async #injectAll(normal: number): Promise<void> {
    const { kinds, pairs, seconds, onFault } = this.#options;
    const random = this.#random.fork('faults');
    const book = this.#crowd.book;
    const deadline = now() + seconds * 1000 - warmUpMs;
    let left = random.shuffled(kinds);
    for (let isFirst = true; isFirst || now() < deadline; ) {
      const together = pairs && left.slice(0, 2).every(({ isAlone }) => isAlone !== true);
      const chosen = left.splice(0, together ? 2 : 1);
      const outcome = await runFaults(chosen, { arena: this.#arena, random, book, records: this.#records, normal, began: this.#began });
      this.#outcomes.push(outcome);
      this.#problems.push(...outcome.failures);
      onFault(outcome);
      if (left.length > 0) continue;
      isFirst = false;
      left = random.shuffled(kinds);
    }
  }

  /** No change is made any more: everybody must come to know the last one. */
  async #heardOfEverything(): Promise<void> {
    const { postgres, watchers } = this.#arena;
    try {
      const [row] = await postgres.query<{ newest: string }>('SELECT max(rev) AS newest FROM platform.change_log');
      const newest = Number(row?.newest);
      await until(`every watcher has heard of revision ${newest}`, settleMs, () => watchers.every(({ position, isOpen }) => position >= newest && isOpen));
    } catch (error) {
      const where = watchers.map(({ record, position, isOpen }) => `${record.id} at ${position}${isOpen ? '' : ', closed'}`).join('; ');
      this.#problems.push(`${describe(error)}: ${where}`);
    }
  }

  async #conclude(recorder: Recorder): Promise<History> {
    const { replicas, operator, modelChanges, watchers } = this.#arena;
    const lists = await this.#finalLists();
    await this.#crowd.stop();
    await recorder.stop();
    for (const revision of recorder.lost) this.#problems.push(`revision ${revision} was in the log, and is no longer`);
    operator.api.close();
    return {
      seed: String(this.#options.seed),
      replicas: replicas.map(({ name }) => name),
      models: sampleModels.map(({ name, namespaced, unique }) => ({ name, namespaced, unique })),
      incarnations: await recorder.incarnations(),
      modelChanges,
      operations: this.#crowd.book.operations,
      watchers: watchers.map(({ record }) => record),
      log: recorder.rows,
      compactions: recorder.compactions,
      finalStates: [...(await recorder.finalStates()), ...lists],
      faults: this.#records,
    };
  }

  async #finalLists(): Promise<History['finalStates']> {
    const states: History['finalStates'] = [];
    for (const replica of this.#arena.replicas) {
      for (const model of sampleModels) {
        const { operation } = await readList(this.#arena.operator, { model, namespace: '', selector: { labels: [], fields: [] }, target: replica });
        if (operation.outcome.type === 'ok') states.push({ source: replica.name, model: model.name, revision: operation.outcome.revision, objects: operation.outcome.items });
        else this.#problems.push(`${replica.name} did not list ${model.name} at the end`);
      }
    }
    return states;
  }
}

/** Those that were never in force. */
export function untried(outcomes: readonly FaultOutcome[], kinds: readonly Fault[] = faults): Fault[] {
  const tried = new Set(outcomes.filter(({ skipped }) => skipped === undefined).flatMap(({ names }) => names.split(' + ')));
  return kinds.filter(({ name }) => !tried.has(name));
}
