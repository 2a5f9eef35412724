import type {
  DeleteCollectionOperation,
  DeleteOperation,
  Instant,
  Operation,
  Precondition,
  WriteOperation,
} from '../../history.ts';
import type { Examination } from './examination.ts';
import { difference, matcherOf, recordDifference } from '../log/object-match.ts';
import { passingStatuses } from './passing-statuses.ts';
import { keyText, pushTo, type Change } from '../log/replayed-log.ts';

/** The request that made a change, and its first attempt, the earliest possible time of the change. */
export interface Maker {
  operation: Operation;
  invoked: Instant;
}

type Claimed = WriteOperation | DeleteOperation;

/** Matches requests with the log: which request made which change, and whether they contradict each other. */
export class WriteLedger {
  readonly #run: Examination;
  readonly makers = new Map<Change, Maker>();
  /** Attempts with the same Idempotency-Key. */
  readonly claims = new Map<string, Claimed[]>();
  /** Deletions with an unknown outcome, by key. */
  readonly openDeletes = new Map<string, DeleteOperation[]>();
  /** A failed collection delete may have deleted some objects, whatever its response. */
  readonly openCollections: DeleteCollectionOperation[] = [];

  constructor(run: Examination) {
    this.#run = run;
  }

  /** Call it once for each operation, then `settleClaims`. */
  take(operation: Operation): void {
    if (operation.verb === 'get' || operation.verb === 'list') return;
    if (operation.verb === 'deleteCollection') this.#settleCollection(operation);
    else if (operation.idempotencyKey !== undefined) pushTo(this.claims, operation.idempotencyKey, operation);
    else this.#settle([operation]);
  }

  settleClaims(): void {
    for (const attempts of this.claims.values()) this.#settle(attempts);
  }

  #settle(attempts: readonly Claimed[]): void {
    const first = attempts[0]!;
    if (attempts.some(({ verb }) => verb !== first.verb)) {
      this.#run.violations.report('recording', () => ({
        text: `different requests have the Idempotency-Key ${first.idempotencyKey}`,
        records: [...attempts],
      }));
    } else if (first.verb === 'delete') this.#settleDelete(attempts as DeleteOperation[]);
    else this.#settleWrite(attempts as WriteOperation[]);
    this.#checkRepetitions(attempts);
  }

  #settleWrite(attempts: readonly WriteOperation[]): void {
    const { log, violations, narrator, statistics } = this.#run;
    const first = attempts[0]!;
    const change = log.byMarker.get(first.sent.marker);
    const unknown = attempts.some(({ outcome }) => outcome.type === 'unknown');
    const acknowledged = attempts.some(({ outcome }) => outcome.type === 'ok');
    if (unknown && !acknowledged) statistics.add(`unknown writes ${change === undefined ? 'not applied' : 'applied'}`);
    for (const operation of attempts) this.#checkAnswer(operation, change);
    if (change === undefined) return;
    if (!unknown && !acknowledged) {
      violations.report('write-refused', () => ({
        text: `${narrator.operation(first)} was refused, and is in the log as ${narrator.change(change)}`,
        records: [first, change.row],
      }));
    }
    this.#made(change, attempts);
    this.#checkSent(first, change);
    this.#checkPrecondition(first, change);
  }

  #checkAnswer(operation: WriteOperation, change: Change | undefined): void {
    const { violations, narrator } = this.#run;
    const { outcome } = operation;
    if (outcome.type !== 'ok') return;
    const { object } = outcome;
    const who = narrator.operation(operation);
    if (change === undefined) {
      violations.report('write-lost', () => ({
        text: `${who} was acknowledged at revision ${object.revision}, and is not in the log`,
        records: [operation],
      }));
      return;
    }
    if (object.revision !== change.row.revision) {
      violations.report('write-revision', () => ({
        text: `${who} was told revision ${object.revision}, and is in the log as ${narrator.change(change)}`,
        records: [operation, change.row],
      }));
    }
    const wrong = change.row.new === null ? undefined : difference(change.row.new, object);
    if (wrong !== undefined || object.name !== operation.name || object.namespace !== operation.namespace) {
      violations.report('write-content', () => ({
        text: `${who} was answered with another object than ${narrator.change(change)}: ${wrong ?? 'its name'}`,
        records: [operation, change.row],
      }));
    }
  }

  #checkSent(operation: WriteOperation, { row, key }: Change): void {
    const { violations, narrator } = this.#run;
    const { sent } = operation;
    const report = (what: string): void =>
      violations.report('write-content', () => ({
        text: `${narrator.operation(operation)} is in the log as ${narrator.row(row)}, ${what}`,
        records: [operation, row],
      }));
    if (key?.model !== operation.model || row.namespace !== operation.namespace || row.name !== operation.name)
      return report('which is another object');
    if ((operation.verb === 'create') !== (row.type === 'C')) return report('which is another verb');
    if (row.new === null) return;
    const old = operation.verb === 'patch' ? row.old : null;
    const wrong =
      recordDifference('label', { ...old?.labels, ...sent.labels }, row.new.labels) ??
      recordDifference('field', { ...old?.fields, ...sent.fields }, row.new.fields);
    if (wrong !== undefined) report(`with other content: ${wrong}`);
  }

  #settleDelete(attempts: readonly DeleteOperation[]): void {
    const { log, violations, narrator } = this.#run;
    const first = attempts[0]!;
    const acknowledged = attempts.flatMap(({ outcome }) => (outcome.type === 'ok' ? outcome.uid : []));
    if (acknowledged.length === 0) {
      if (attempts.some(({ outcome }) => outcome.type === 'unknown'))
        pushTo(this.openDeletes, keyText(first.model, first.namespace, first.name), first);
      return;
    }
    const uid = acknowledged[0]!;
    const change = log.deletions.get(uid);
    if (change === undefined) {
      violations.report('write-lost', () => ({
        text: `${narrator.operation(first)} was told that object ${uid} is gone, and the log has no such deletion`,
        records: [...attempts],
      }));
      return;
    }
    if (acknowledged.some((other) => other !== uid)) {
      violations.report('idempotency', () => ({
        text: `repetitions of ${narrator.operation(first)} were told of different objects: ${acknowledged.join(', ')}`,
        records: [...attempts],
      }));
    }
    const { key, row } = change;
    if (key?.model !== first.model || row.namespace !== first.namespace || row.name !== first.name) {
      violations.report('write-content', () => ({
        text: `${narrator.operation(first)} was told of the deletion of another object, ${narrator.row(row)}`,
        records: [first, row],
      }));
    }
    this.#made(change, attempts);
    this.#checkPrecondition(first, change);
  }

  #settleCollection(operation: DeleteCollectionOperation): void {
    const { log, violations, narrator } = this.#run;
    const { outcome, model, selector } = operation;
    if (outcome.type !== 'ok') {
      this.openCollections.push(operation);
      return;
    }
    const matches = matcherOf(selector);
    for (const item of outcome.deleted) {
      const change = log.deletions.get(item.uid);
      const who = narrator.operation(operation);
      if (change === undefined || change.key?.model !== model) {
        violations.report('write-lost', () => ({
          text: `${who} listed ${item.namespace}/${item.name} (${item.uid}) as deleted, and the log has no such deletion`,
          records: [operation, item],
        }));
        continue;
      }
      this.#made(change, [operation]);
      if (change.row.revision !== item.revision) {
        violations.report('write-revision', () => ({
          text: `${who} was told revision ${item.revision} for the deletion ${narrator.change(change)}`,
          records: [operation, item, change.row],
        }));
      }
      if ((operation.namespace !== '' && item.namespace !== operation.namespace) || !everMatched(change, matches)) {
        violations.report('delete-collection', () => ({
          text: `${who} deleted ${narrator.change(change)}, which its selector never matched`,
          records: [operation, change.row],
        }));
      }
    }
  }

  #made(change: Change, attempts: readonly Operation[]): void {
    const { violations, narrator } = this.#run;
    const operation = attempts.reduce((a, b) => (b.invoked < a.invoked ? b : a));
    const other = this.makers.get(change)?.operation;
    if (other === undefined) {
      this.makers.set(change, { operation, invoked: operation.invoked });
      this.#run.times.notBefore(change.index, operation.invoked, operation);
    } else if (change.row.type === 'D') {
      violations.report('write-twice', () => ({
        text: `both ${narrator.operation(other)} and ${narrator.operation(operation)} were told that they made the one deletion ${narrator.change(change)}`,
        records: [other, operation, change.row],
      }));
    } else {
      violations.report('recording', () => ({
        text: `${narrator.operation(other)} and ${narrator.operation(operation)} have one marker`,
        records: [other, operation],
      }));
    }
  }

  /** A write with a precondition must have changed exactly that revision. */
  #checkPrecondition(operation: Operation & Precondition, { row }: Change): void {
    const { violations, narrator } = this.#run;
    const { expected, expectedUid } = operation;
    if (expected !== undefined && row.previous !== expected) {
      violations.report('conflict-missed', () => ({
        text: `${narrator.operation(operation)} expected revision ${expected}, and was written over ${row.previous} as ${narrator.row(row)}: an update in between is lost`,
        records: [operation, row],
      }));
    }
    if (expectedUid !== undefined && row.old?.uid !== expectedUid) {
      violations.report('conflict-missed', () => ({
        text: `${narrator.operation(operation)} expected uid ${expectedUid}, and met ${row.old?.uid}`,
        records: [operation, row],
      }));
    }
  }

  /** An executed request has one outcome, however often it is sent. */
  #checkRepetitions(attempts: readonly Claimed[]): void {
    if (attempts.length < 2) return;
    const { violations, narrator, statistics } = this.#run;
    const done = attempts.filter(({ outcome }) => outcome.type === 'ok').toSorted((a, b) => a.completed - b.completed);
    statistics.add('repeated requests', attempts.length - 1);
    const first = done[0];
    if (first === undefined) return;
    statistics.add('repeated requests answered alike', done.length - 1);
    const told = new Set(done.map(({ outcome }) => ('object' in outcome ? outcome.object.revision : 0)));
    if (told.size > 1) {
      violations.report('idempotency', () => ({
        text: `repetitions of ${narrator.operation(first)} were told different revisions: ${[...told].join(', ')}`,
        records: [...attempts],
      }));
    }
    for (const late of attempts) {
      const { outcome } = late;
      if (outcome.type !== 'refused' || late.invoked < first.completed || passingStatuses.has(outcome.status)) continue;
      violations.report('idempotency', () => ({
        text: `${narrator.operation(late)} was refused with ${outcome.status} ${outcome.reason}, though ${narrator.operation(first)} had been acknowledged under its Idempotency-Key: ${outcome.message ?? ''}`,
        records: [first, late],
      }));
    }
  }
}

/** Whether the deleted object matched in any of its states. */
export function everMatched({ key, position, row }: Change, matches: ReturnType<typeof matcherOf>): boolean {
  for (let i = position - 1; i >= 0; i -= 1) {
    const state = key?.changes[i]?.row.new;
    if (key === undefined || state?.uid !== row.new?.uid || state === null || state === undefined) return false;
    if (matches(key, state)) return true;
  }
  return false;
}
