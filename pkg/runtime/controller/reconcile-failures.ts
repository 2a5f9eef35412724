import { TerminalError } from '../reconcile/reconciler.ts';

/** A failing reconcile with its number of failures in a row. */
export interface ReconcileFailure {
  controller: string;
  /** Key of the object: `namespace/name`. */
  request: string;
  /** For a lost event: the position of its watch. */
  watch?: number;
  attempt: number;
  error: unknown;
  /** A retry will not help, so the failure counts at once. */
  isLasting?: boolean;
}

/** Summary of the current failures. */
export interface FailureSummary {
  /** Objects whose reconciles fail; no more than `maxReconcileFailures` are counted. */
  objects: number;
  /** Since when at least one does. Milliseconds since 1970. */
  since: number;
  last: ReconcileFailure;
}

/** One or two conflicts in a row are normal. */
const attemptsThatCount = 3;
export const maxReconcileFailures = 1000;

/** Tracks the objects whose reconciles fail, until they succeed. */
export class ReconcileFailures {
  /** In the order of their last attempts. */
  readonly #failing = new Map<string, { failure: ReconcileFailure; since: number }>();
  readonly #onChange: () => void;

  /** @param onChange called synchronously when the summary may have changed */
  constructor(onChange: () => void = () => undefined) {
    this.#onChange = onChange;
  }

  note(failure: ReconcileFailure): void {
    const key = keyOf(failure);
    const since = this.#failing.get(key)?.since ?? Date.now();
    this.#failing.delete(key);
    if (this.#failing.size >= maxReconcileFailures) return;
    this.#failing.set(key, { failure, since });
    if (counts(failure)) this.#onChange();
  }

  /** The reconcile succeeded. */
  clear(controller: string, request: string, watch?: number): void {
    const key = keyOf({ controller, request, watch });
    const present = this.#failing.get(key);
    if (present === undefined) return;
    this.#failing.delete(key);
    if (counts(present.failure)) this.#onChange();
  }

  /** The object was deleted: a failure without retry is over. */
  clearTerminal(controller: string, request: string): void {
    if (this.#failing.get(keyOf({ controller, request }))?.failure.error instanceof TerminalError)
      this.clear(controller, request);
  }

  /** A restarted controller has no known failures. */
  clearAll(controller: string): void {
    for (const { failure } of this.#failing.values())
      if (failure.controller === controller) this.clear(controller, failure.request, failure.watch);
  }

  /** Undefined without failures. */
  get summary(): FailureSummary | undefined {
    const failing = Array.from(this.#failing.values()).filter(({ failure }) => counts(failure));
    const last = failing.at(-1)?.failure;
    return last === undefined
      ? undefined
      : { objects: failing.length, since: Math.min(...failing.map(({ since }) => since)), last };
  }
}

function counts({ attempt, isLasting = false }: ReconcileFailure): boolean {
  return isLasting || attempt >= attemptsThatCount;
}

function keyOf({
  controller,
  request,
  watch = '',
}: {
  controller: string;
  request: string;
  watch?: number | string | undefined;
}): string {
  return `${controller} ${watch} ${request}`;
}
