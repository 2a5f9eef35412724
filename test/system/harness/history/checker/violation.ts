/** What a history may contradict; each name is one promise, and one of the reasons a run fails. */
export type Rule =
  /** Revisions of the log are unique and became visible in their order. */
  | 'log-order'
  /** Each row of a key follows from the one before: prev, old body, type, uid. */
  | 'log-chain'
  /** No unique value is held by two objects. */
  | 'log-unique'
  /** A dropped model leaves nothing behind, and told of every object's end. */
  | 'log-model'
  /** An acknowledged write is in the log, at the revision that was told. */
  | 'write-lost'
  | 'write-revision'
  /** No write is applied twice, no object deleted twice. */
  | 'write-twice'
  /** A refused write is not in the log. */
  | 'write-refused'
  /** The log holds what was sent, and the answer says so. */
  | 'write-content'
  /** Nothing is in the log that nobody asked for. */
  | 'write-unasked'
  /** A repetition under one Idempotency-Key has the first outcome. */
  | 'idempotency'
  /** A deleted collection is all that matched, and nothing else. */
  | 'delete-collection'
  /** A precondition that did not hold was refused. */
  | 'conflict-missed'
  /** 409, 412 and 404 were true at some moment of the request. */
  | 'conflict-unjustified'
  | 'not-found-unjustified'
  /** A well-formed request is not refused as malformed. */
  | 'refusal'
  /** A write that was acknowledged before another began has the lower revision. */
  | 'write-order'
  /** A read shows every write that was acknowledged before it began. */
  | 'read-stale'
  /** Nobody is shown a write before it was asked for. */
  | 'read-future'
  | 'read-content'
  /** A list is exactly the state at its revision: objects, order, page, total. */
  | 'list-items'
  | 'list-order'
  | 'list-total'
  | 'list-chunk'
  /** Events come in the order of revisions, each once, none from before the start. */
  | 'watch-order'
  /** Every change that matches is told. */
  | 'watch-gap'
  /** No change that does not match is told. */
  | 'watch-selector'
  /** An event has the right type and the right object. */
  | 'watch-event'
  /** A bookmark lies below nothing that comes after it. */
  | 'watch-bookmark'
  /** The objects at a watch's beginning are the state at its revision. */
  | 'watch-start'
  /** 410 and 504 only for history that is gone or not yet made. */
  | 'watch-expired'
  /** At the end a watcher has heard everything. */
  | 'watch-behind'
  /** SQL, each replica's list and the log agree at the end. */
  | 'final-state'
  /** The harness contradicts itself: mend the recording. */
  | 'recording';

export interface Violation {
  rule: Rule;
  /** What is wrong, with who, when and which revisions. */
  text: string;
  /** The parts of the history it follows from. */
  records: unknown[];
}

export type Told = Omit<Violation, 'rule'>;

/** Reported in full for each rule; of the others there is a count. */
const limit = 20;

/** Gathers violations; of many of one kind the first are enough. */
export class Violations {
  readonly list: Violation[] = [];
  readonly counts = new Map<Rule, number>();

  /** `tell` is asked only while there is room. */
  report(rule: Rule, tell: () => Told): void {
    const count = (this.counts.get(rule) ?? 0) + 1;
    this.counts.set(rule, count);
    if (count <= limit) this.list.push({ rule, ...tell() });
  }
}
