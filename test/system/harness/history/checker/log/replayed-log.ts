import type { History, LogRow } from '../../history.ts';

/** A row of the log with its position. */
export interface Change {
  row: LogRow;
  /** Position in the whole log. */
  index: number;
  /** Absent for markers and for models outside the history. */
  key?: KeyHistory;
  /** Position among the changes of its key. */
  position: number;
}

/** All changes of one name, over all lives of its model. */
export interface KeyHistory {
  model: string;
  namespace: string;
  name: string;
  changes: Change[];
}

/** The log in the order of revisions, with indexes. Does not check it. */
export class ReplayedLog {
  readonly changes: Change[] = [];
  readonly keys = new Map<string, KeyHistory>();
  readonly byModel = new Map<string, Change[]>();
  /** Creates and updates, by marker. The first of duplicates. */
  readonly byMarker = new Map<string, Change>();
  /** Deletes, by deleted object. The first of duplicates. */
  readonly deletions = new Map<string, Change>();
  readonly #revisions: Float64Array;
  /** Duplicate rows. */
  readonly repeated: [LogRow, LogRow][] = [];

  constructor({ log, incarnations }: Pick<History, 'log' | 'incarnations'>) {
    const models = new Map(incarnations.map(({ id, model }) => [id, model]));
    const rows = [...log].toSorted((a, b) => a.revision - b.revision);
    for (const row of rows) {
      const before = this.changes.at(-1)?.row;
      if (before?.revision === row.revision) this.repeated.push([before, row]);
      else this.#add(row, row.type === 'M' ? undefined : models.get(row.incarnation));
    }
    this.#revisions = Float64Array.from(this.changes, (change) => change.row.revision);
  }

  get last(): number {
    return this.changes.at(-1)?.row.revision ?? 0;
  }

  /** Index of the newest change at or below a revision; -1 if there is none. */
  indexAt(revision: number): number {
    return lastWhere(this.#revisions.length, (index) => this.#revisions[index]! <= revision);
  }

  key(model: string, namespace: string, name: string): KeyHistory | undefined {
    return this.keys.get(keyText(model, namespace, name));
  }

  #add(row: LogRow, model: string | undefined): void {
    const change: Change = { row, index: this.changes.length, position: 0 };
    this.changes.push(change);
    if (model === undefined) return;
    change.key = this.#keyOf(model, row);
    change.position = change.key.changes.push(change) - 1;
    pushTo(this.byModel, model, change);
    const { marker, uid } = row.new ?? { marker: '', uid: '' };
    if (row.type !== 'D' && !this.byMarker.has(marker)) this.byMarker.set(marker, change);
    if (row.type === 'D' && !this.deletions.has(uid)) this.deletions.set(uid, change);
  }

  #keyOf(model: string, { namespace, name }: LogRow): KeyHistory {
    const text = keyText(model, namespace, name);
    let key = this.keys.get(text);
    if (key === undefined) {
      key = { model, namespace, name, changes: [] };
      this.keys.set(text, key);
    }
    return key;
  }
}

/** The current change at an index of the log: undefined if the object does not exist. */
export function stateAt(key: KeyHistory | undefined, index: number): Change | undefined {
  const change = changeAt(key, index);
  return change === undefined || change.row.type === 'D' ? undefined : change;
}

/** The newest change of a key at or below an index of the log. */
export function changeAt(key: KeyHistory | undefined, index: number): Change | undefined {
  if (key === undefined) return undefined;
  return key.changes[lastWhere(key.changes.length, (position) => key.changes[position]!.index <= index)];
}

/** The next change of the same key. */
export function nextOf({ key, position }: Change): Change | undefined {
  return key?.changes[position + 1];
}

/** The last of `length` places at which the condition holds, if it holds for all before; -1 if it never does. */
export function lastWhere(length: number, holds: (place: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function keyText(model: string, namespace: string, name: string): string {
  return `${model} ${namespace}/${name}`;
}

export function pushTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}
