import type { Fields, LabelClause, Operation, OperationId, Outcome, Paging, SelectorRecord } from '../../history.ts';
import type { SeededRandom } from '../../../seeded-random.ts';
import { matcherOf, orderOf } from '../log/object-match.ts';
import type { Activity, Schedule } from './schedule.ts';
import {
  observed,
  type SimulatedOutcome,
  type SimulatedStore,
  type SimulatedWrite,
  type StoredState,
} from './simulated-store.ts';

export interface SimulationState {
  store: SimulatedStore;
  schedule: Schedule;
  random: SeededRandom;
  operations: Operation[];
  names: number;
  pause: number;
  /** The revision up to which history belongs to an earlier life of the model. */
  replaces: () => number;
  /** Writes whose clients have given up, and that may still be applied. */
  pending: number;
}

type Head = Pick<Operation, 'client' | 'seq' | 'replica' | 'invoked' | 'completed' | 'model' | 'namespace'>;

/** A client with random requests, one at a time, that records the responses. */
export class SimulatedClient {
  readonly #simulation: SimulationState;
  readonly #id: number;
  readonly #random: SeededRandom;
  #seq = 0;
  #lastSeen: StoredState | undefined;

  constructor(simulation: SimulationState, id: number) {
    this.#simulation = simulation;
    this.#id = id;
    this.#random = simulation.random.fork(`client ${id}`);
  }

  *run(requests: number): Activity {
    for (let i = 0; i < requests; i += 1) {
      const verb = this.#random.weighted({
        create: 5,
        update: 5,
        patch: 5,
        delete: 3,
        get: 5,
        list: 4,
        chunks: 1,
        deleteCollection: 0.3,
      });
      if (verb === 'get') yield* this.#get();
      else if (verb === 'list') yield* this.list(this.selector(), this.#paging());
      else if (verb === 'chunks') yield* this.#chunks();
      else if (verb === 'deleteCollection') yield* this.#deleteCollection();
      else yield* this.#write(verb);
      yield this.#random.floatBetween(0, this.#simulation.pause);
    }
  }

  /** @returns the operation's id and revision; undefined if it was refused. */
  *list(
    selector: SelectorRecord,
    paging: Paging,
    namespace = this.#random.pick(['', 'a', 'b']),
  ): Generator<number, { id: OperationId; revision: number } | undefined, void> {
    const { store } = this.#simulation;
    const head = this.#begin(namespace);
    const sort = this.#random.chance(0.5)
      ? []
      : [{ field: this.#random.pick(['rank', 'slug']), descending: this.#random.chance(0.5) }];
    yield this.#delay();
    const matching = sorted(store, { namespace, selector, sort });
    const revision = store.newest;
    const isThere = store.incarnation !== undefined;
    yield this.#delay();
    const start = paging.type === 'page' ? (paging.page - 1) * paging.size : 0;
    const items = matching.slice(start, paging.type === 'page' ? start + paging.size : undefined).map(observed);
    const hasNext = items.length > 0 && start + items.length < matching.length;
    const outcome = isThere ? ({ type: 'ok', revision, items, total: matching.length, hasNext } as const) : gone;
    this.#push({ ...this.#end(head), verb: 'list', selector, sort, paging, outcome });
    return isThere ? { id: { client: this.#id, seq: head.seq }, revision } : undefined;
  }

  *#chunks(): Activity {
    const { store } = this.#simulation;
    const selector = this.selector();
    let snapshot: StoredState[] | undefined;
    let revision = 0;
    let continued: OperationId | undefined;
    for (let served = 0; ;) {
      const head = this.#begin('');
      const limit = 1 + this.#random.below(5);
      yield this.#delay();
      const isThere = store.incarnation !== undefined;
      const isExpired = continued !== undefined && revision < store.compacted;
      if (continued === undefined) revision = store.newest;
      snapshot ??= sorted(store, { namespace: '', selector, sort: [] });
      yield this.#delay();
      const items = snapshot.slice(served, served + limit).map(observed);
      const remaining = snapshot.length - served - items.length;
      const ok = { type: 'ok', revision, items, continues: remaining > 0, remaining } as const;
      const outcome = isThere
        ? isExpired
          ? ({ type: 'refused', status: 410, reason: 'Expired' } as const)
          : ok
        : gone;
      this.#push({
        ...this.#end(head),
        verb: 'list',
        selector,
        sort: [],
        paging: { type: 'chunk', limit, ...(continued === undefined ? {} : { continued }) },
        outcome,
      });
      if (outcome.type !== 'ok' || remaining === 0) return;
      served += items.length;
      continued = { client: this.#id, seq: head.seq };
    }
  }

  *#get(): Activity {
    const { store } = this.#simulation;
    const head = this.#begin(this.#random.pick(['a', 'b']));
    const name = this.#name();
    yield this.#delay();
    const found = store.get(head.namespace, name);
    yield this.#delay();
    if (found !== undefined) this.#lastSeen = found;
    this.#push({
      ...this.#end(head),
      verb: 'get',
      name,
      outcome: found === undefined ? gone : { type: 'ok', object: observed(found) },
    });
  }

  *#deleteCollection(): Activity {
    const { store } = this.#simulation;
    const head = this.#begin(this.#random.pick(['a', 'b']));
    const selector = this.selector();
    yield this.#delay();
    const isThere = store.incarnation !== undefined;
    const targets = sorted(store, { namespace: head.namespace, selector, sort: [] });
    const deleted: { namespace: string; name: string; uid: string; revision: number }[] = [];
    for (const { namespace, name, state } of targets) {
      yield this.#delay() / 4;
      const done = store.write({ type: 'D', namespace, name, expectedUid: state.uid });
      if ('revision' in done) deleted.push({ namespace, name, uid: state.uid, revision: done.revision });
    }
    yield this.#delay();
    const outcome = this.#random.chance(0.8) ? ({ type: 'ok', deleted } as const) : unknown;
    this.#push({ ...this.#end(head), verb: 'deleteCollection', selector, outcome: isThere ? outcome : gone });
  }

  /** The response may be lost, and the request repeated under its key. */
  *#write(verb: 'create' | 'update' | 'patch' | 'delete'): Activity {
    const random = this.#random;
    const lastSeen = this.#lastSeen;
    const namespace = lastSeen !== undefined && random.chance(0.3) ? lastSeen.namespace : random.pick(['a', 'b']);
    const name =
      lastSeen !== undefined && namespace === lastSeen.namespace && random.chance(0.5) ? lastSeen.name : this.#name();
    const marker = `${this.#id}-${this.#seq}`;
    const isExpected =
      verb !== 'create' && lastSeen?.namespace === namespace && lastSeen.name === name && random.chance(0.7);
    const expected = isExpected
      ? {
          expected: lastSeen.revision,
          ...(random.chance(0.3) ? { ifMatch: true } : {}),
          ...(random.chance(0.3) ? { expectedUid: lastSeen.state.uid } : {}),
        }
      : {};
    const claim = random.chance(0.4) ? { idempotencyKey: marker } : {};
    const sent = { marker, labels: this.#labels(), fields: this.#fields() };
    const { rank, ...fewer } = sent.fields;
    const patch = {
      marker,
      labels: { color: random.pick(['red', null]) },
      fields: random.chance(0.5) ? { rank: rank ?? null } : fewer,
    };
    const write: SimulatedWrite = {
      ...expected,
      namespace,
      name,
      type: verb === 'create' ? 'C' : verb === 'delete' ? 'D' : 'U',
      ...('idempotencyKey' in claim ? { key: marker } : {}),
    };
    if (verb === 'patch')
      write.change = (old) => ({
        marker,
        labels: merged(old!.labels, patch.labels),
        fields: { ...old!.fields, ...patch.fields },
      });
    else if (verb !== 'delete') write.change = () => sent;
    for (let again = true; again;) {
      const head = this.#begin(namespace);
      const { outcome, isLost } = yield* this.#send(write);
      again = 'idempotencyKey' in claim && random.chance(isLost ? 0.8 : 0.15);
      const base = { ...this.#end(head), ...claim, name };
      if (verb === 'delete') this.#push({ ...base, ...expected, verb, outcome: deletedOutcome(outcome) });
      else if (verb === 'create') this.#push({ ...base, verb, sent, outcome: writtenOutcome(outcome, write) });
      else if (verb === 'update')
        this.#push({ ...base, ...expected, verb, sent, outcome: writtenOutcome(outcome, write) });
      else this.#push({ ...base, ...expected, verb, sent: patch, outcome: writtenOutcome(outcome, write) });
    }
  }

  *#send(write: SimulatedWrite): Generator<number, { outcome: SimulatedOutcome | undefined; isLost: boolean }, void> {
    const { store, schedule } = this.#simulation;
    yield this.#delay();
    const result = this.#random.weighted({ answered: 8, appliedUnknown: 1, neverApplied: 1, appliedLater: 0.5 });
    if (result === 'appliedLater') {
      this.#simulation.pending += 1;
      schedule.start(this.#applyLate(write, this.#random.floatBetween(0, 60)));
    }
    const outcome = result === 'answered' || result === 'appliedUnknown' ? store.write(write) : undefined;
    yield this.#delay();
    return { outcome: result === 'answered' ? outcome : undefined, isLost: result !== 'answered' };
  }

  *#applyLate(write: SimulatedWrite, after: number): Activity {
    yield after;
    this.#simulation.store.write(write);
    this.#simulation.pending -= 1;
  }

  #begin(namespace: string): Head {
    this.#seq += 1;
    return {
      client: this.#id,
      seq: this.#seq,
      replica: this.#random.pick(['one', 'two']),
      invoked: this.#simulation.schedule.now,
      completed: 0,
      model: this.#simulation.store.model,
      namespace,
    };
  }

  #end(head: Head): Head {
    return { ...head, completed: this.#simulation.schedule.now };
  }

  #push(operation: Operation): void {
    this.#simulation.operations.push(operation);
  }

  #delay(): number {
    return this.#random.chance(0.05) ? this.#random.floatBetween(0, 100) : this.#random.between(0.1, 4);
  }

  #name(): string {
    return `n${this.#random.below(this.#simulation.names)}`;
  }

  #labels(): Record<string, string> {
    return {
      ...(this.#random.chance(0.8) ? { color: this.#random.pick(['red', 'blue', 'green']) } : {}),
      tier: String(this.#random.below(2)),
    };
  }

  #fields(): Fields {
    const random = this.#random;
    const tags = ['x', 'y', 'z'].filter(() => random.chance(0.4));
    return {
      slug: random.chance(0.3) ? null : `s${random.below(this.#simulation.names * 3)}`,
      rank: random.chance(0.2) ? null : random.below(10),
      tags,
    };
  }

  #paging(): Paging {
    return this.#random.chance(0.5)
      ? { type: 'all' }
      : { type: 'page', page: 1 + this.#random.below(3), size: 1 + this.#random.below(6) };
  }

  selector(): SelectorRecord {
    const random = this.#random;
    const label: LabelClause = random.pick<LabelClause>([
      { key: 'color', operator: 'in', values: ['red'] },
      { key: 'color', operator: 'notIn', values: ['red'] },
      { key: 'color', operator: 'absent' },
      { key: 'tier', operator: 'exists' },
    ]);
    const form = random.below(4);
    return {
      labels: form === 1 || form === 3 ? [label] : [],
      fields:
        form < 2
          ? []
          : [
              random.pick<SelectorRecord['fields'][number]>([
                { field: 'rank', operator: '>=', value: 4 },
                { field: 'tags', operator: 'in', values: ['x', 'y'] },
                { field: 'slug', operator: 'prefix', value: 's1' },
                { field: 'rank', operator: 'absent' },
              ]),
            ],
    };
  }
}

const gone = { type: 'refused', status: 404, reason: 'NotFound' } as const;
const unknown = { type: 'unknown', error: 'the connection broke' } as const;

function merged(labels: Record<string, string>, patch: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries({ ...labels, ...patch }).filter((entry): entry is [string, string] => entry[1] !== null),
  );
}

function sorted(
  store: SimulatedStore,
  {
    namespace,
    selector,
    sort,
  }: { namespace: string; selector: SelectorRecord; sort: { field: string; descending: boolean }[] },
): StoredState[] {
  const matches = matcherOf(selector);
  const order = orderOf(sort);
  return store
    .list(namespace)
    .filter((object) => matches(object, object.state))
    .toSorted((a, b) => order(a, a.state, b, b.state));
}

function writtenOutcome(
  outcome: SimulatedOutcome | undefined,
  { namespace, name }: SimulatedWrite,
): Extract<Operation, { verb: 'create' }>['outcome'] {
  if (outcome === undefined) return unknown;
  if (!('revision' in outcome)) return refusal(outcome);
  const { revision, state, replayed } = outcome;
  return { type: 'ok', object: { ...state, namespace, name, revision }, ...(replayed ? { replayed } : {}) };
}

function deletedOutcome(outcome: SimulatedOutcome | undefined): Extract<Operation, { verb: 'delete' }>['outcome'] {
  if (outcome === undefined) return unknown;
  return 'revision' in outcome ? { type: 'ok', uid: outcome.state.uid } : refusal(outcome);
}

function refusal({
  status,
  reason,
  duplicate,
}: {
  status: number;
  reason: string;
  duplicate?: string;
}): Outcome<never> {
  return { type: 'refused', status, reason, ...(duplicate === undefined ? {} : { duplicate }) };
}
