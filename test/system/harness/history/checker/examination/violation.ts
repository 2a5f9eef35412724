/** The promises that a history may violate; each is one of the reasons for a failed run. */
export type Rule =
  /** Revisions of the log are unique and become visible in order. */
  | 'log-order'
  /** Each row of a key follows from the one before: prev, old body, type, uid. */
  | 'log-chain'
  /** No unique value is held by two objects. */
  | 'log-unique'
  /** A dropped model leaves nothing behind, and its log has the deletion of every object. */
  | 'log-model'
  /** An acknowledged write is in the log, at the returned revision. */
  | 'write-lost'
  | 'write-revision'
  /** No write is applied twice, no object deleted twice. */
  | 'write-twice'
  /** A refused write is not in the log. */
  | 'write-refused'
  /** The log contains what was sent, and so does the response. */
  | 'write-content'
  /** Every change in the log was requested. */
  | 'write-unasked'
  /** A repeated request with the same Idempotency-Key gets the first outcome. */
  | 'idempotency'
  /** A deleted collection is exactly the set of matching objects. */
  | 'delete-collection'
  /** A failed precondition is refused. */
  | 'conflict-missed'
  /** 409, 412 and 404 were true at some moment of the request. */
  | 'conflict-unjustified'
  | 'not-found-unjustified'
  /** A well-formed request is not refused as malformed. */
  | 'refusal'
  /** A write that was acknowledged before another started has the lower revision. */
  | 'write-order'
  /** A read shows every write that was acknowledged before the read started. */
  | 'read-stale'
  /** No client sees a write before it was requested. */
  | 'read-future'
  | 'read-content'
  /** A list is exactly the state at its revision: objects, order, page, total. */
  | 'list-items'
  | 'list-order'
  | 'list-total'
  | 'list-chunk'
  /** Events come in the order of revisions, each once, none from before the start. */
  | 'watch-order'
  /** Every matching change is reported. */
  | 'watch-gap'
  /** No other change is reported. */
  | 'watch-selector'
  /** An event has the right type and the right object. */
  | 'watch-event'
  /** No later event has a revision at or below that of a bookmark. */
  | 'watch-bookmark'
  /** A watch's initial objects are the state at its revision. */
  | 'watch-start'
  /** 410 and 504 occur only for history that is compacted or does not exist yet. */
  | 'watch-expired'
  /** At the end a watcher has all events. */
  | 'watch-behind'
  /** SQL, each replica's list and the log agree at the end. */
  | 'final-state'
  /** The harness contradicts itself: fix the recording. */
  | 'recording';

export interface Violation {
  rule: Rule;
  /** Description with client, time and revisions. */
  text: string;
  /** The related parts of the history. */
  records: unknown[];
}

export type Told = Omit<Violation, 'rule'>;

/** Violations of each rule that are reported in full; the rest is only counted. */
const limit = 20;

/** Collects violations; keeps only the first ones of each kind. */
export class Violations {
  readonly list: Violation[] = [];
  readonly counts = new Map<Rule, number>();
  /** The texts of tolerated violations, which are in neither `list` nor `counts`. */
  readonly tolerated: string[] = [];
  readonly #tolerable: RegExp | undefined;

  /** Violations whose text matches `tolerable` are tolerated. */
  constructor(tolerable?: RegExp) {
    this.#tolerable = tolerable;
  }

  /** Without tolerable violations, `tell` is called only below the limit. */
  report(rule: Rule, tell: () => Told): void {
    if (this.#tolerable !== undefined) {
      const { text } = tell();
      if (this.#tolerable.test(text)) {
        this.tolerated.push(text);
        return;
      }
    }
    const count = (this.counts.get(rule) ?? 0) + 1;
    this.counts.set(rule, count);
    if (count <= limit) this.list.push({ rule, ...tell() });
  }
}
