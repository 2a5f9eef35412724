/** A request that was asked for and not yet answered. */
interface Entry {
  /** The oldest change that asked for it; 0 if only something else did. */
  since: bigint;
  /** When it is to be looked at, in milliseconds since 1970; 0 for at once. */
  due: number;
}

/** What of a controller's work is still open. */
export interface OpenWork {
  requests: ReadonlyMap<string, number>;
  /** Changes before this one are settled, or among `requests`; undefined where all are. */
  before: bigint | undefined;
  /** Besides these there is nothing that only a look at everything would find. */
  isWhole: boolean;
}

/**
 * Keeps account of a controller's requests: open from when something asks for one until a look that began afterwards
 * has gone well. One that is to be looked at again at a later time stays open, too.
 */
export class WorkLedger {
  readonly #asked = new Map<string, Entry>();
  readonly #underWay = new Map<string, Entry>();

  ask(key: string, since = 0n, due = 0): void {
    const present = this.#asked.get(key);
    if (present === undefined) this.#asked.set(key, { since, due });
    else {
      // It need be told only once that a key is open: by the change, if there was one.
      if (since !== 0n && (present.since === 0n || since < present.since)) present.since = since;
      if (due < present.due) present.due = due;
    }
  }

  /** A look begins: it sees all that asked for it until now. */
  begin(key: string): void {
    this.#underWay.set(key, this.#asked.get(key) ?? { since: 0n, due: 0 });
    this.#asked.delete(key);
  }

  settle(key: string): void {
    this.#underWay.delete(key);
  }

  /** The look did not go well: whatever asked for it still does. */
  fail(key: string): void {
    const entry = this.#underWay.get(key);
    this.#underWay.delete(key);
    if (entry !== undefined) this.ask(key, entry.since);
  }

  /**
   * Names at most so many. Of more, the oldest change stands for those that changes asked for, and a look at everything
   * for those of the others that it would find; undefined where too many are left that can only be named.
   */
  open(most: number, isFound: (key: string) => boolean = () => false): OpenWork | undefined {
    const requests = new Map<string, number>();
    let before: bigint | undefined;
    let isWhole = true;
    const areAllNamed = this.#asked.size + this.#underWay.size <= most;
    for (const entries of [this.#asked, this.#underWay]) {
      for (const [key, { since, due }] of entries) {
        if (!areAllNamed && since !== 0n) before = before === undefined || since < before ? since : before;
        else if (!areAllNamed && isFound(key)) isWhole = false;
        else requests.set(key, Math.min(due, requests.get(key) ?? due));
        if (requests.size > most) return undefined;
      }
    }
    return { requests, before, isWhole };
  }
}
