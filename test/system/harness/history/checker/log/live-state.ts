import type { IncarnationRecord } from '../../history.ts';
import { matcherOf } from './object-match.ts';
import type { SelectorRecord } from '../../history.ts';
import type { Change, ReplayedLog } from './replayed-log.ts';

/** A check to run when the replay has reached `index` (-1: before the first change). */
export interface SnapshotRequest {
  index: number;
  look(state: LiveState): void;
}

type Objects = Map<string, Change>;

/** The existing objects at one revision during the replay of the log. */
export class LiveState {
  readonly #models = new Map<string, Map<string, Objects>>();

  apply(change: Change): void {
    const { row, key } = change;
    if (key === undefined) return;
    const objects = this.#objects(key.model, key.namespace);
    if (row.type === 'D') objects.delete(key.name);
    else objects.set(key.name, change);
  }

  get(model: string, namespace: string, name: string): Change | undefined {
    return this.#models.get(model)?.get(namespace)?.get(name);
  }

  /** `namespace` '' means all of them. */
  matching(model: string, namespace: string, selector: SelectorRecord): Change[] {
    const matches = matcherOf(selector);
    const found: Change[] = [];
    for (const [each, objects] of this.#models.get(model) ?? []) {
      if (namespace !== '' && each !== namespace) continue;
      for (const change of objects.values())
        if (change.row.new !== null && matches(change.row, change.row.new)) found.push(change);
    }
    return found;
  }

  dropModel(model: string): void {
    this.#models.delete(model);
  }

  #objects(model: string, namespace: string): Objects {
    let namespaces = this.#models.get(model);
    if (namespaces === undefined) this.#models.set(model, (namespaces = new Map()));
    let objects = namespaces.get(namespace);
    if (objects === undefined) namespaces.set(namespace, (objects = new Map()));
    return objects;
  }
}

/** Replays the log once, and stops for each check. */
export function replayWithChecks(
  log: ReplayedLog,
  incarnations: readonly IncarnationRecord[],
  requests: readonly SnapshotRequest[],
): void {
  const drops = incarnations.flatMap(({ model, dropped }) =>
    dropped === undefined ? [] : { index: log.indexAt(dropped), look: (state: LiveState) => state.dropModel(model) },
  );
  const stops = [...drops, ...requests].toSorted((a, b) => a.index - b.index);
  const state = new LiveState();
  let next = 0;
  for (const stop of stops) {
    for (; next <= stop.index && next < log.changes.length; next += 1) state.apply(log.changes[next]!);
    stop.look(state);
  }
}
