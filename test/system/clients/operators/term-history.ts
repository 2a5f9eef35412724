export interface Handled {
  readonly by: string;
  readonly term: number;
  readonly generation: number;
}

/**
 * The writes of one operator in the order of revisions. Its terms only grow, and a term belongs to one instance:
 * otherwise two led at the same time.
 */
export class TermHistory {
  readonly violations: string[] = [];
  /** The instances that led. */
  readonly leaders = new Set<string>();
  terms = 0;
  readonly #operator: string;
  readonly #seen = new Map<string, string>();
  #last: Handled | undefined;

  constructor(operator: string) {
    this.#operator = operator;
  }

  /** The instance that wrote last; undefined before the first write. */
  get leader(): string | undefined {
    return this.#last?.by;
  }

  /** Notes the status of an object after a change of any of its fields. */
  note(object: string, handled: Handled | undefined): void {
    if (handled === undefined) return;
    const write = JSON.stringify(handled);
    if (this.#seen.get(object) === write) return;
    this.#seen.set(object, write);
    const last = this.#last;
    if (last !== undefined && (handled.term < last.term || (handled.term === last.term && handled.by !== last.by)))
      this.violations.push(
        `${this.#operator}, ${object}: term ${handled.term} of ${handled.by} after ${last.term} of ${last.by}`,
      );
    if (last?.term !== handled.term) this.terms += 1;
    this.#last = handled;
    this.leaders.add(handled.by);
  }
}
