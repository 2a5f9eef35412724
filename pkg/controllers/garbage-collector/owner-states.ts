import type { ObjectKey } from '#pkg/apimachinery/index';

/** Exists; is being deleted in the foreground and waits for its dependents; does not exist (any more). */
export type OwnerState = 'solid' | 'waiting' | 'absent';

/** Maximum number of remembered states, the newest; about 5 MB. */
const maxStates = 20_000;

/** The identity of an owner: a new object of the same name is a different owner. */
export interface OwnerId extends ObjectKey {
  group: string;
  kind: string;
  uid: string;
}

/** Caches the state of owners. A response from before an observed deletion never brings an owner back. */
export class OwnerStates {
  readonly #states = new Map<string, OwnerState>();
  #generation = 0;

  /** Read it before a request, and pass it with the response. */
  get generation(): number {
    return this.#generation;
  }

  get(owner: OwnerId): OwnerState | undefined {
    const key = keyOf(owner);
    const state = this.#states.get(key);
    if (state === undefined) return undefined;
    this.#states.delete(key);
    this.#states.set(key, state);
    return state;
  }

  note(owner: OwnerId, state: OwnerState, generation = this.#generation): void {
    if (generation !== this.#generation) return;
    const key = keyOf(owner);
    if (this.#states.get(key) === 'absent') return;
    this.#states.delete(key);
    this.#states.set(key, state);
    if (this.#states.size > maxStates) this.#states.delete(this.#states.keys().next().value!);
  }

  /** Events were missed: forgets all states. */
  clear(): void {
    this.#generation += 1;
    this.#states.clear();
  }
}

function keyOf({ group, kind, namespace, name, uid }: OwnerId): string {
  return `${uid} ${group}/${kind} ${namespace}/${name}`;
}
