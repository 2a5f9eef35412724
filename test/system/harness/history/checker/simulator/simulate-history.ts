import type { CompactionSample, FinalState, History, IncarnationRecord, ModelChangeRecord } from '../../history.ts';
import { SeededRandom } from '../../../seeded-random.ts';
import { Schedule, type Activity } from './schedule.ts';
import { SimulatedClient, type SimulationState } from './simulated-client.ts';
import { observed, SimulatedStore } from './simulated-store.ts';
import { SimulatedWatcher } from './simulated-watcher.ts';

export interface SimulationOptions {
  clients?: number;
  watchers?: number;
  /** Requests of each client. */
  requests?: number;
  /** Names in each namespace. */
  names?: number;
  /** Longest pause of a client between requests. Milliseconds. */
  pause?: number;
  drop?: boolean;
}

/**
 * The history of a correct system: concurrent, with lost responses, compaction, a dropped model. The same seed gives
 * the same history.
 */
export function simulateHistory(
  seed: number,
  { clients = 5, watchers = 4, requests = 40, names = 6, pause = 10, drop = true }: SimulationOptions = {},
): History {
  const random = new SeededRandom(seed);
  const store = new SimulatedStore('posts.example.com');
  const schedule = new Schedule();
  const life = new ModelLife(store, schedule);
  const simulation: SimulationState = {
    store,
    schedule,
    random,
    operations: [],
    names,
    pause,
    replaces: () => life.replaces,
    pending: 0,
  };
  const compactions: CompactionSample[] = [];
  let left = clients;
  const isOver = (): boolean => left === 0 && simulation.pending === 0 && life.isOver;
  const watching = Array.from({ length: watchers }, (_, id) => new SimulatedWatcher(simulation, id));
  for (let id = 0; id < clients; id += 1)
    schedule.start(finishing(new SimulatedClient(simulation, id).run(requests), () => (left -= 1)));
  for (const watcher of watching) schedule.start(watcher.run(isOver));
  if (drop) schedule.start(life.run(random.fork('life')), requests * pause * 0.4);
  else life.isOver = true;
  schedule.start(maintain({ store, schedule, compactions, random: random.fork('maintenance'), isOver }));
  schedule.run();
  return {
    seed: String(seed),
    replicas: ['one', 'two'],
    models: [{ name: store.model, namespaced: true, unique: ['slug'] }],
    incarnations: life.incarnations,
    modelChanges: life.changes,
    operations: simulation.operations,
    watchers: watching.map(({ record }) => record),
    log: store.log,
    compactions,
    finalStates: ['sql', 'one', 'two'].map((source): FinalState => ({
      source,
      model: store.model,
      revision: store.newest,
      objects: store.list('').map(observed),
    })),
    faults: [{ name: 'kill -9 of replica one', started: 1100, ended: 1150 }],
  };
}

function* finishing(activity: Activity, done: () => void): Activity {
  yield* activity;
  done();
}

interface Maintenance {
  store: SimulatedStore;
  schedule: Schedule;
  compactions: CompactionSample[];
  random: SeededRandom;
  isOver: () => boolean;
}

/** Reads the log by SQL, compacts sometimes, and writes unrelated rows. */
function* maintain({ store, schedule, compactions, random, isOver }: Maintenance): Activity {
  let read = 0;
  for (let last = false; !last;) {
    last = isOver();
    if (random.chance(0.3)) store.note();
    if (random.chance(0.3)) store.burn();
    if (random.chance(0.1)) store.compacted = Math.max(store.compacted, store.newest - random.below(60));
    yield random.floatBetween(0, 2);
    for (; read < store.log.length; read += 1) store.log[read]!.recorded = schedule.now;
    compactions.push({ at: schedule.now, compacted: store.compacted });
    yield random.floatBetween(0, 20);
  }
  for (; read < store.log.length; read += 1) store.log[read]!.recorded = schedule.now + 200;
  compactions.push({ at: schedule.now + 200, compacted: store.compacted });
}

/** Drops the model in the middle, and recreates it. */
class ModelLife {
  readonly incarnations: IncarnationRecord[] = [{ id: 10, model: 'posts.example.com', replaces: 0 }];
  readonly changes: ModelChangeRecord[] = [{ type: 'make', model: 'posts.example.com', requested: 0, completed: 1 }];
  isOver = false;
  replaces = 0;
  readonly #store: SimulatedStore;
  readonly #schedule: Schedule;

  constructor(store: SimulatedStore, schedule: Schedule) {
    this.#store = store;
    this.#schedule = schedule;
  }

  *run(random: SeededRandom): Activity {
    const store = this.#store;
    const schedule = this.#schedule;
    const drop: ModelChangeRecord = { type: 'drop', model: store.model, requested: schedule.now };
    yield random.floatBetween(0, 3);
    store.terminating = true;
    for (const { namespace, name } of store.list('')) {
      yield random.floatBetween(0, 1);
      store.write({ type: 'D', namespace, name });
    }
    this.replaces = store.newest;
    this.incarnations[0]!.dropped = store.newest;
    store.incarnation = undefined;
    store.note();
    yield random.floatBetween(0, 5);
    drop.completed = schedule.now;
    yield random.floatBetween(0, 20);
    const make: ModelChangeRecord = { type: 'make', model: store.model, requested: schedule.now };
    yield random.floatBetween(0, 3);
    store.incarnation = 11;
    store.terminating = false;
    this.incarnations.push({ id: 11, model: store.model, replaces: this.replaces });
    yield random.floatBetween(0, 3);
    make.completed = schedule.now;
    this.changes.push(drop, make);
    this.isOver = true;
  }
}
