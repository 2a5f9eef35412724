import type { FieldValue, Operation, Precondition, Refusal } from '../../history.ts';
import type { Window } from '../log/commit-times.ts';
import { idText, type Examination } from '../examination/examination.ts';
import { compactedBy, isGone } from '../log/model-life.ts';
import { passingStatuses } from '../examination/passing-statuses.ts';
import { changeAt, pushTo, type Change, type KeyHistory } from '../log/replayed-log.ts';
import type { Rule } from '../examination/violation.ts';
import type { WriteLedger } from '../examination/write-ledger.ts';

/**
 * Each refusal must have been true at some moment between request and response. Refusals for capacity or permissions
 * are not checked.
 */
export class RefusalCheck {
  readonly #run: Examination;
  readonly #ledger: WriteLedger;
  readonly #holdings = new Map<string, Change[]>();

  constructor(run: Examination, ledger: WriteLedger) {
    this.#run = run;
    this.#ledger = ledger;
    for (const { name, unique } of run.history.models) {
      for (const change of unique.length === 0 ? [] : (run.log.byModel.get(name) ?? [])) {
        if (change.row.type === 'D') continue;
        for (const index of unique)
          pushTo(this.#holdings, holdingText(name, index, change.row.new?.fields[index]), change);
      }
    }
  }

  check(operation: Operation): void {
    const { outcome } = operation;
    if (outcome.type !== 'refused' || operation.provoked === true) return;
    this.#run.statistics.add(`refusals ${outcome.status}`);
    if (passingStatuses.has(outcome.status)) return;
    const wrong = this.#unjustified(operation, outcome);
    if (wrong === undefined) return;
    const { rule, text } = wrong;
    const { narrator, violations } = this.#run;
    violations.report(rule, () => ({
      text: `${narrator.operation(operation)} was refused with ${outcome.status} ${outcome.reason}${text}`,
      records: [operation],
    }));
  }

  #unjustified(operation: Operation, refusal: Refusal): { rule: Rule; text: string } | undefined {
    const { history, times, log } = this.#run;
    const window = times.windowOf(operation);
    const key = 'name' in operation ? log.key(operation.model, operation.namespace, operation.name) : undefined;
    switch (refusal.status) {
      case 404: {
        const true404 =
          isGone(history, operation.model, operation) ||
          ('name' in operation && operation.verb !== 'create' && isAbsentWithin(key, window));
        return true404
          ? undefined
          : { rule: 'not-found-unjustified', text: ', though the object was there all the time' };
      }
      case 409:
      case 412: {
        const text = this.#conflictUnjustified(operation, refusal, { key, window });
        return text === undefined ? undefined : { rule: 'conflict-unjustified', text };
      }
      case 410:
        return this.#isExpired(operation, window)
          ? undefined
          : { rule: 'list-chunk', text: ', though that revision was still kept' };
      case 400:
        if (this.#asksForPassingIndex(operation)) return undefined;
        return { rule: 'refusal', text: `: ${refusal.message ?? ''}` };
      default:
        return { rule: 'refusal', text: `: ${refusal.message ?? ''}` };
    }
  }

  #conflictUnjustified(
    operation: Operation,
    refusal: Refusal,
    { key, window }: { key: KeyHistory | undefined; window: Window },
  ): string | undefined {
    if (operation.verb === 'get' || operation.verb === 'list' || operation.verb === 'deleteCollection')
      return ', which has nothing to be in conflict with';
    if (refusal.retryAfter === true)
      return this.#isUnderWay(operation) ? undefined : ', though nothing was under way under its Idempotency-Key';
    if (refusal.duplicate !== undefined) {
      const value = operation.verb === 'delete' ? undefined : operation.sent.fields?.[refusal.duplicate];
      return this.#isTaken(operation, { index: refusal.duplicate, value, window })
        ? undefined
        : `, though nobody held ${refusal.duplicate}=${JSON.stringify(value)}`;
    }
    if (operation.verb === 'create')
      return within(key, window).some(isPresent) ? undefined : ', though no object of that name was there';
    const wanted = operation.ifMatch === true ? 412 : 409;
    if (operation.expected === undefined && operation.expectedUid === undefined) return ', though it named no revision';
    if (operation.expected !== undefined && operation.expectedUid === undefined && refusal.status !== wanted)
      return `, and ${wanted} is the answer to a stale revision`;
    return within(key, window).some((change) => isPresent(change) && differs(change, operation))
      ? undefined
      : `, though it was at the revision it named, ${operation.expected ?? operation.expectedUid}`;
  }

  /** An optional index may be missing. */
  #asksForPassingIndex(operation: Operation): boolean {
    const asked =
      operation.verb === 'list'
        ? [...operation.sort, ...operation.selector.fields]
        : operation.verb === 'deleteCollection'
          ? operation.selector.fields
          : [];
    const { modelChanges } = this.#run.history;
    return asked.some(({ field }) =>
      modelChanges.some(({ type, model, index }) => type === 'index' && model === operation.model && index === field),
    );
  }

  #isUnderWay(operation: Operation): boolean {
    const attempts =
      'idempotencyKey' in operation && operation.idempotencyKey !== undefined
        ? (this.#ledger.claims.get(operation.idempotencyKey) ?? [])
        : [];
    return attempts.some(
      (other) =>
        other !== operation &&
        other.invoked <= operation.completed &&
        (other.outcome.type === 'unknown' || other.completed >= operation.invoked),
    );
  }

  #isTaken(
    { model, namespace, name }: { model: string; namespace: string } & Partial<{ name: string }>,
    { index, value, window }: { index: string; value: FieldValue | undefined; window: Window },
  ): boolean {
    if (value === undefined || value === null) return false;
    const holders = this.#holdings.get(holdingText(model, index, value)) ?? [];
    // Holders follow each other, so earlier ones before the window are skipped.
    for (let i = holders.length - 1; i >= 0; i -= 1) {
      const holder = holders[i]!;
      const next = holder.key?.changes[holder.position + 1];
      if (next !== undefined && next.index <= window.from) return false;
      if (holder.index <= window.to && (holder.row.namespace !== namespace || holder.row.name !== name)) return true;
    }
    return false;
  }

  #isExpired(operation: Operation, window: Window): boolean {
    if (operation.verb !== 'list') return false;
    const { history, log, named } = this.#run;
    if (isGone(history, operation.model, operation)) return true;
    const { paging, exact, atLeast = 0 } = operation;
    if (paging.type === 'chunk' && paging.continued !== undefined) {
      const first = named.get(idText(paging.continued));
      const revision = first?.verb === 'list' && first.outcome.type === 'ok' ? first.outcome.revision : 0;
      return revision < compactedBy(history, operation.completed);
    }
    const newest = (index: number): number => log.changes[index]?.row.revision ?? 0;
    return exact === true && (newest(window.to) !== atLeast || window.from !== window.to);
  }
}

function holdingText(model: string, index: string, value: FieldValue | undefined): string {
  return `${model} ${index} ${JSON.stringify(value)}`;
}

/** The states that a request may have seen: undefined is absence before the first. */
export function within(key: KeyHistory | undefined, { from, to }: Window): (Change | undefined)[] {
  const first = changeAt(key, from);
  const states = [first];
  const { changes } = key ?? { changes: [] };
  for (let i = (first?.position ?? -1) + 1; i < changes.length && changes[i]!.index <= to; i += 1)
    states.push(changes[i]);
  return states;
}

function isPresent(change: Change | undefined): change is Change {
  return change !== undefined && change.row.type !== 'D';
}

function isAbsentWithin(key: KeyHistory | undefined, window: Window): boolean {
  return within(key, window).some((change) => !isPresent(change));
}

function differs({ row }: Change, { expected, expectedUid }: Precondition): boolean {
  return (
    (expected !== undefined && row.revision !== expected) || (expectedUid !== undefined && row.new?.uid !== expectedUid)
  );
}
