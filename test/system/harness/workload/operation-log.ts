import type { Operation } from '../history/history.ts';
import { now } from '../history/instant.ts';

export interface Tally {
  ok: number;
  refused: number;
  unknown: number;
}

/** All operations of a run, and the recent rate of successes. */
export class OperationLog {
  readonly operations: Operation[] = [];
  /** The times of recent successes. */
  readonly #successes: number[] = [];
  #tally: Tally = { ok: 0, refused: 0, unknown: 0 };

  add(operation: Operation): void {
    this.operations.push(operation);
    this.#tally[operation.outcome.type] += 1;
    // A refusal counts as success: the server works.
    if (operation.outcome.type !== 'unknown') this.#successes.push(operation.completed);
  }

  /** The results since the last call. */
  takeTally(): Tally {
    const tally = this.#tally;
    this.#tally = { ok: 0, refused: 0, unknown: 0 };
    return tally;
  }

  /** Successful operations a second during the last `ms` milliseconds. */
  goodput(ms: number): number {
    const since = now() - ms;
    let first = this.#successes.length;
    while (first > 0 && (this.#successes[first - 1] ?? 0) >= since) first -= 1;
    return ((this.#successes.length - first) * 1000) / ms;
  }
}
