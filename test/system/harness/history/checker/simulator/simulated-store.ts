import type { Fields, LogRow, ObjectState, ObservedObject } from '../../history.ts';

export interface StoredState {
  namespace: string;
  name: string;
  revision: number;
  state: ObjectState;
}

export interface SimulatedWrite {
  type: 'C' | 'U' | 'D';
  namespace: string;
  name: string;
  expected?: number;
  expectedUid?: string;
  ifMatch?: boolean;
  key?: string;
  /** Changes the existing state. Not called for a delete. */
  change?: (old: ObjectState | undefined) => Omit<ObjectState, 'uid'>;
}

export type SimulatedOutcome =
  { revision: number; state: ObjectState; replayed: boolean } | { status: number; reason: string; duplicate?: string };

/** A correct store that handles one request at a time. The reader of its log fills in `recorded`. */
export class SimulatedStore {
  readonly log: LogRow[] = [];
  readonly model: string;
  /** The model's present life; undefined while it is dropped. */
  incarnation: number | undefined = 10;
  terminating = false;
  compacted = 0;
  #objects = new Map<string, StoredState>();
  readonly #claims = new Map<string, Extract<SimulatedOutcome, { revision: number }>>();
  #revision = 100;
  #uids = 0;

  constructor(model: string) {
    this.model = model;
    this.note();
  }

  get newest(): number {
    return this.log.at(-1)!.revision;
  }

  get(namespace: string, name: string): StoredState | undefined {
    return this.incarnation === undefined ? undefined : this.#objects.get(`${namespace}/${name}`);
  }

  /** By namespace and name. */
  list(namespace: string): StoredState[] {
    return [...this.#objects.values()]
      .filter((object) => namespace === '' || object.namespace === namespace)
      .toSorted((a, b) => (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1));
  }

  write(write: SimulatedWrite): SimulatedOutcome {
    const known = write.key === undefined ? undefined : this.#claims.get(write.key);
    if (known !== undefined) return { ...known, replayed: true };
    const outcome = this.#attempt(write);
    if (write.key !== undefined && 'revision' in outcome) this.#claims.set(write.key, outcome);
    return outcome;
  }

  /** A change outside the history. */
  note(): void {
    this.#revision += 1;
    this.log.push({
      revision: this.#revision,
      incarnation: 1,
      type: 'U',
      namespace: '',
      name: 'x',
      previous: null,
      old: null,
      new: null,
      batch: null,
      recorded: 0,
    });
  }

  /** A revision that a failed statement used up. */
  burn(): void {
    this.#revision += 1;
  }

  #attempt(write: SimulatedWrite): SimulatedOutcome {
    const old = this.get(write.namespace, write.name);
    if (this.incarnation === undefined) return { status: 404, reason: 'NotFound' };
    if (write.type === 'C') {
      if (this.terminating) return { status: 403, reason: 'Forbidden' };
      if (old !== undefined) return { status: 409, reason: 'AlreadyExists' };
    } else if (old === undefined) return { status: 404, reason: 'NotFound' };
    else if (write.ifMatch === true && write.expected !== old.revision)
      return { status: 412, reason: 'PreconditionFailed' };
    else if (write.expectedUid !== undefined && write.expectedUid !== old.state.uid)
      return { status: 409, reason: 'Conflict' };
    else if (write.expected !== undefined && write.expected !== old.revision)
      return { status: 409, reason: 'Conflict' };
    const uid = old?.state.uid ?? `uid-${(this.#uids += 1)}`;
    const state = write.change === undefined ? old!.state : { ...write.change(old?.state), uid };
    if (write.type !== 'D' && this.#holder(state.fields, write) !== undefined)
      return { status: 409, reason: 'Conflict', duplicate: 'slug' };
    return { revision: this.#commit(write, old, state), state, replayed: false };
  }

  #holder({ slug }: Fields, { namespace, name }: SimulatedWrite): StoredState | undefined {
    if (slug === null) return undefined;
    for (const object of this.#objects.values())
      if (object.state.fields['slug'] === slug && (object.namespace !== namespace || object.name !== name))
        return object;
    return undefined;
  }

  #commit({ type, namespace, name }: SimulatedWrite, old: StoredState | undefined, state: ObjectState): number {
    this.#revision += 1;
    const revision = this.#revision;
    const id = `${namespace}/${name}`;
    if (type === 'D') this.#objects.delete(id);
    else this.#objects.set(id, { namespace, name, revision, state });
    this.log.push({
      revision,
      incarnation: this.incarnation!,
      type,
      namespace,
      name,
      previous: old?.revision ?? null,
      old: old?.state ?? null,
      new: state,
      batch: null,
      recorded: 0,
    });
    return revision;
  }
}

export function observed({ namespace, name, revision, state }: StoredState): ObservedObject {
  return { ...state, namespace, name, revision };
}
