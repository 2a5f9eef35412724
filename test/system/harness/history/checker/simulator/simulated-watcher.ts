import type { SelectorRecord, StreamEnd, WatcherRecord, WatchEventRecord, WatchStreamRecord } from '../../history.ts';
import type { SeededRandom } from '../../../seeded-random.ts';
import { expectedEvent } from '../checks/event-expectation.ts';
import { matcherOf } from '../log/object-match.ts';
import type { Activity } from './schedule.ts';
import { SimulatedClient, type SimulationState } from './simulated-client.ts';
import { observed } from './simulated-store.ts';

/** Watches, is disconnected, and resumes; starts from a list, its last position, or the existing objects. */
export class SimulatedWatcher {
  readonly record: WatcherRecord;
  readonly #simulation: SimulationState;
  readonly #random: SeededRandom;
  readonly #lister: SimulatedClient;
  #position: number | undefined;

  constructor(simulation: SimulationState, id: number) {
    this.#simulation = simulation;
    this.#random = simulation.random.fork(`watcher ${id}`);
    this.#lister = new SimulatedClient(simulation, 100 + id);
    const selector: SelectorRecord = id === 0 ? { labels: [], fields: [] } : this.#lister.selector();
    this.record = {
      id,
      model: simulation.store.model,
      namespace: this.#random.pick(['', '', 'a']),
      selector,
      streams: [],
    };
  }

  /** Runs until `isOver` returns true and it has all events. */
  *run(isOver: () => boolean): Activity {
    for (;;) {
      const stream = yield* this.#open();
      this.record.streams.push(stream);
      yield this.#random.floatBetween(0, 5);
      const ended = yield* this.#follow(stream, isOver);
      stream.ended = { ...ended, at: this.#simulation.schedule.now } as StreamEnd;
      if (stream.ended.type === 'live') return;
      yield this.#random.floatBetween(1, 30);
    }
  }

  *#open(): Generator<number, WatchStreamRecord, void> {
    const { schedule } = this.#simulation;
    const base = {
      replica: this.#random.pick(['one', 'two']),
      opened: schedule.now,
      events: [] as WatchEventRecord[],
      ended: { type: 'broken', at: 0 } as StreamEnd,
    };
    if (this.#position !== undefined && this.#random.chance(0.8))
      return { ...base, start: { type: 'revision', revision: this.#position } };
    if (this.#random.chance(0.3)) return { ...base, start: { type: 'objects' } };
    for (;;) {
      const { namespace, selector } = this.record;
      const listed = yield* this.#lister.list(selector, { type: 'all' }, namespace);
      if (listed !== undefined)
        return {
          ...base,
          opened: schedule.now,
          start: { type: 'revision', revision: listed.revision, list: listed.id },
        };
      yield 5;
    }
  }

  *#follow(
    stream: WatchStreamRecord,
    isOver: () => boolean,
  ): Generator<number, { type: StreamEnd['type']; status?: number; reason?: string }, void> {
    const { store, schedule } = this.#simulation;
    const events = stream.events as WatchEventRecord[];
    const life = store.incarnation;
    if (life === undefined) return { type: 'refused', status: 404, reason: 'NotFound' };
    const from = stream.start.type === 'revision' ? stream.start.revision : store.newest;
    if (from < Math.max(store.compacted, this.#simulation.replaces()))
      return { type: 'expired', status: 410, reason: 'Expired' };
    if (stream.start.type === 'objects') {
      const matches = matcherOf(this.record.selector);
      const objects = store.list(this.record.namespace).filter((object) => matches(object, object.state));
      for (const object of objects) {
        if (this.#random.chance(0.01)) return { type: 'broken' };
        yield this.#random.floatBetween(0, 1);
        events.push({ type: 'ADDED', object: observed(object), received: schedule.now });
      }
      events.push({ type: 'BOOKMARK', revision: from, received: schedule.now, initialEnd: true });
    }
    this.#position = from;
    return yield* this.#tell(events, { from, life, isOver });
  }

  *#tell(
    events: WatchEventRecord[],
    { from, life, isOver }: { from: number; life: number; isOver: () => boolean },
  ): Generator<number, { type: StreamEnd['type'] }, void> {
    const { store, schedule } = this.#simulation;
    const matches = matcherOf(this.record.selector);
    for (let next = store.log.findIndex(({ revision }) => revision > from); ;) {
      if (next === -1) next = store.log.length;
      for (; next < store.log.length && this.#random.chance(0.9); next += 1) {
        const row = store.log[next]!;
        if (store.incarnation !== life && row.revision > this.#simulation.replaces()) return { type: 'closed' };
        const event =
          row.incarnation !== life
            ? undefined
            : expectedEvent({ row, index: 0, position: 0 }, this.record.namespace, matches);
        if (event === undefined) continue;
        yield this.#random.floatBetween(0, 0.5);
        this.#position = row.revision;
        events.push({
          type: event.type,
          object: { ...event.state, namespace: row.namespace, name: row.name, revision: row.revision },
          received: schedule.now,
        });
      }
      if (next > 0 && this.#random.chance(0.1)) {
        // Never beyond the last event, and the stream ends with the model's life.
        this.#position = Math.max(this.#position!, store.log[next - 1]!.revision);
        events.push({ type: 'BOOKMARK', revision: this.#position, received: schedule.now });
      }
      if (next === store.log.length && store.incarnation !== life) return { type: 'closed' };
      if (next === store.log.length && isOver()) return { type: 'live' };
      if (!isOver() && this.#random.chance(0.03)) return { type: this.#random.pick(['closed', 'broken', 'cancelled']) };
      yield this.#random.chance(0.05) ? this.#random.floatBetween(0, 100) : this.#random.between(0.5, 8);
    }
  }
}
