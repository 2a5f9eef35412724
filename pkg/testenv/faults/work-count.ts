import type { ControllerObserver } from '#pkg/runtime/index';

/** Counts what the queues of controllers take in and what is done, so that one can tell when they rest. */
export class WorkCount {
  added = 0;
  done = 0;
  readonly observer: ControllerObserver = {
    added: () => (this.added += 1),
    done: () => (this.done += 1),
    depth: () => undefined,
    taken: () => undefined,
    retried: () => undefined,
    reconciled: () => undefined,
  };

  /** Nothing waits, and nothing is under way; what waits for its time to be tried again does not count. */
  get isResting(): boolean {
    return this.added === this.done;
  }
}
