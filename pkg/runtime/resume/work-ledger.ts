/** A request that is not reconciled yet. */
interface Entry {
  /** The oldest change that enqueued it; 0 if no change did. */
  since: bigint;
  /** When it is due, in milliseconds since 1970; 0 for immediately. */
  due: number;
}

/** The open work of a controller. */
export interface OpenWork {
  requests: ReadonlyMap<string, number>;
  /** Changes before this one are settled or in `requests`; undefined if all are. */
  before: bigint | undefined;
  /** False if there is open work that only reconciling everything would find. */
  isComplete: boolean;
}

/**
 * Tracks a controller's requests: a request is open from when it is enqueued until a reconcile that started afterwards
 * succeeds. A requeued request stays open too.
 */
export class WorkLedger {
  readonly #asked = new Map<string, Entry>();
  readonly #underWay = new Map<string, Entry>();

  ask(key: string, since = 0n, due = 0): void {
    const present = this.#asked.get(key);
    if (present === undefined) this.#asked.set(key, { since, due });
    else {
      // One entry for each key is enough: the oldest change, if there was one.
      if (since !== 0n && (present.since === 0n || since < present.since)) present.since = since;
      if (due < present.due) present.due = due;
    }
  }

  /** A reconcile starts: it covers all that enqueued the key until now. */
  begin(key: string): void {
    this.#underWay.set(key, this.#asked.get(key) ?? { since: 0n, due: 0 });
    this.#asked.delete(key);
  }

  settle(key: string): void {
    this.#underWay.delete(key);
  }

  /** The reconcile failed: the reasons to enqueue the key remain. */
  fail(key: string): void {
    const entry = this.#underWay.get(key);
    this.#underWay.delete(key);
    if (entry !== undefined) this.ask(key, entry.since);
  }

  /**
   * Lists at most `most` requests. If there are more, the oldest change replaces those that a change enqueued, and
   * reconciling everything replaces the others that it would find; undefined if too many others are left.
   */
  open(most: number, isFound: (key: string) => boolean = () => false): OpenWork | undefined {
    const requests = new Map<string, number>();
    let before: bigint | undefined;
    let isComplete = true;
    const areAllNamed = this.#asked.size + this.#underWay.size <= most;
    for (const entries of [this.#asked, this.#underWay]) {
      for (const [key, { since, due }] of entries) {
        if (!areAllNamed && since !== 0n) before = before === undefined || since < before ? since : before;
        else if (!areAllNamed && isFound(key)) isComplete = false;
        else requests.set(key, Math.min(due, requests.get(key) ?? due));
        if (requests.size > most) return undefined;
      }
    }
    return { requests, before, isComplete };
  }
}
