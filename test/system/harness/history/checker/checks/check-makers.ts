import type { Examination } from '../examination/examination.ts';
import { matcherOf } from '../log/object-match.ts';
import { keyText, type Change } from '../log/replayed-log.ts';
import { everMatched, type WriteLedger } from '../examination/write-ledger.ts';
import { isGone } from '../log/model-life.ts';
import type { DeleteOperation } from '../../history.ts';

/** Every change needs a request, in an order that agrees with the times of requests and responses. */
export function checkMakers(run: Examination, ledger: WriteLedger): void {
  const { log, times, violations, narrator, statistics } = run;
  const spent = new Set<DeleteOperation>();
  for (const change of log.changes) {
    if (change.key === undefined) continue;
    const maker = ledger.makers.get(change);
    if (maker === undefined) {
      if (change.row.type === 'D' && explainDeletion(run, ledger, change, spent))
        statistics.add('deletions of unknown outcome');
      else
        violations.report('write-unasked', () => ({
          text: `nobody asked for ${narrator.change(change)}`,
          records: [change.row],
        }));
      continue;
    }
    const seen = times.latestOf(change.index);
    if (maker.invoked <= seen.at) continue;
    violations.report('write-order', () => ({
      text: `${narrator.change(change)} was asked for by ${narrator.operation(maker.operation)}, after it or a higher revision was seen by ${narrator.bound(seen)}`,
      records: [maker.operation, change.row, seen.source],
    }));
  }
}

/**
 * Explains a deletion by a request with an unknown outcome, each used once; by a failed collection delete; or by the
 * drop of the model.
 */
function explainDeletion(run: Examination, ledger: WriteLedger, change: Change, spent: Set<DeleteOperation>): boolean {
  const { row, index } = change;
  const key = change.key!;
  const latest = run.times.latestOf(index).at;
  const candidates = (ledger.openDeletes.get(keyText(key.model, key.namespace, key.name)) ?? []).filter(
    (operation) =>
      !spent.has(operation) &&
      operation.invoked <= latest &&
      (operation.expected === undefined || operation.expected === row.previous) &&
      (operation.expectedUid === undefined || operation.expectedUid === row.new?.uid),
  );
  // A request that names a revision can explain no other.
  const found =
    candidates.find(({ expected, expectedUid }) => expected !== undefined || expectedUid !== undefined) ??
    candidates[0];
  if (found !== undefined) {
    spent.add(found);
    return true;
  }
  const ofCollection = ledger.openCollections.some(
    ({ model, namespace, invoked, selector }) =>
      model === key.model &&
      (namespace === '' || namespace === key.namespace) &&
      invoked <= latest &&
      everMatched(change, matcherOf(selector)),
  );
  return ofCollection || isGone(run.history, key.model, { invoked: run.times.earliestOf(index).at, completed: latest });
}
