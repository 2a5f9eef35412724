import type { ControllerObserver } from '#pkg/runtime/index';

/** Counts what enters the controllers' queues and what is done, to detect when they are at rest. */
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

  /** Nothing waits and nothing is running; delayed retries do not count. */
  get isResting(): boolean {
    return this.added === this.done;
  }
}
