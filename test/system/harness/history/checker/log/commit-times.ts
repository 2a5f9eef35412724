import type { Instant, LogRow, Operation, WatcherRecord, WatchStreamRecord } from '../../history.ts';
import { lastWhere } from './replayed-log.ts';

/** The origin of a bound, for messages. */
export type Source = Operation | LogRow | { watcher: WatcherRecord; stream: WatchStreamRecord };

export interface Bound {
  at: Instant;
  source: Source | undefined;
}

/**
 * The states of the log that a request may have seen: from the change at `from` (-1: before the first) to the one at
 * `to`.
 */
export interface Window {
  from: number;
  to: number;
}

/**
 * The possible commit time of each change of the log, from the clients' requests and observations. Commits happen in
 * the order of revisions. So a change was committed no earlier than the latest request among those that made it and the
 * changes before it, and no later than the first observation of it or a later change.
 *
 * This suffices to decide whether a history is linearizable: a read between `invoked` and `completed` of a state that
 * change v made and change n ended requires that v can be before `completed` and n after `invoked`; commit times that
 * meet all such bounds, in the order of revisions, give every read its own moment.
 *
 * Usage: all `notBefore`, `sealEarliest`, all `notAfter`, `sealLatest`; then the queries.
 */
export class CommitTimes {
  readonly #earliest: Float64Array;
  readonly #latest: Float64Array;
  readonly #earliestSources: (Source | undefined)[];
  readonly #latestSources: (Source | undefined)[];

  constructor(length: number) {
    this.#earliest = new Float64Array(length).fill(-Infinity);
    this.#latest = new Float64Array(length).fill(Infinity);
    this.#earliestSources = Array.from({ length }, () => undefined);
    this.#latestSources = Array.from({ length }, () => undefined);
  }

  /** The change at `index` was requested at `at`. */
  notBefore(index: number, at: Instant, source: Source): void {
    if (at <= this.#earliest[index]!) return;
    this.#earliest[index] = at;
    this.#earliestSources[index] = source;
  }

  /** The change at `index`, or a later one, was seen; -1 is none. */
  notAfter(index: number, at: Instant, source: Source): void {
    if (index < 0 || at >= this.#latest[index]!) return;
    this.#latest[index] = at;
    this.#latestSources[index] = source;
  }

  sealEarliest(): void {
    for (let i = 1; i < this.#earliest.length; i += 1) {
      if (this.#earliest[i]! >= this.#earliest[i - 1]!) continue;
      this.#earliest[i] = this.#earliest[i - 1]!;
      this.#earliestSources[i] = this.#earliestSources[i - 1];
    }
  }

  sealLatest(): void {
    for (let i = this.#latest.length - 2; i >= 0; i -= 1) {
      if (this.#latest[i]! <= this.#latest[i + 1]!) continue;
      this.#latest[i] = this.#latest[i + 1]!;
      this.#latestSources[i] = this.#latestSources[i + 1];
    }
  }

  /** -1 is before the first change. */
  earliestOf(index: number): Bound {
    return index < 0
      ? { at: -Infinity, source: undefined }
      : { at: this.#earliest[index]!, source: this.#earliestSources[index] };
  }

  /** `length` is after the last change. */
  latestOf(index: number): Bound {
    return index >= this.#latest.length
      ? { at: Infinity, source: undefined }
      : { at: this.#latest[index]!, source: this.#latestSources[index] };
  }

  windowOf({ invoked, completed }: { invoked: Instant; completed: Instant }): Window {
    const from = lastWhere(this.#latest.length, (index) => this.#latest[index]! < invoked);
    const to = lastWhere(this.#earliest.length, (index) => this.#earliest[index]! <= completed);
    return { from, to: Math.max(from, to) };
  }
}
