import type { ObjectKey } from '#pkg/apimachinery/index';

/** There; deleted in the foreground, waiting for its dependents; not there (any more). */
export type OwnerState = 'solid' | 'waiting' | 'absent';

/** Of which the newest are remembered; about 5 MB. */
const maxStates = 20_000;

/** What is an owner: another object under its name is another. */
export interface OwnerId extends ObjectKey {
  group: string;
  kind: string;
  uid: string;
}

/** What is known of owners. Who is gone is gone: no answer from before a deletion that was told of undoes it. */
export class OwnerStates {
  readonly #states = new Map<string, OwnerState>();
  #generation = 0;

  /** To be taken before a question is asked, and given back with the answer. */
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

  /** News were missed: nothing is certain any more. */
  clear(): void {
    this.#generation += 1;
    this.#states.clear();
  }
}

function keyOf({ group, kind, namespace, name, uid }: OwnerId): string {
  return `${uid} ${group}/${kind} ${namespace}/${name}`;
}
