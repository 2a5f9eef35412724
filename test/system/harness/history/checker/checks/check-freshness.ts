import type { GetOperation, ListOperation } from '../../history.ts';
import { idText, type Examination } from '../examination/examination.ts';
import { difference } from '../log/object-match.ts';
import { nextOf, stateAt } from '../log/replayed-log.ts';

/** A GET must return a state of that object that was current during the request. */
export function checkGet({ log, times, violations, narrator, statistics }: Examination, operation: GetOperation): void {
  if (operation.outcome.type !== 'ok') return;
  const { object } = operation.outcome;
  statistics.add('objects read');
  const report = (text: string): void =>
    violations.report('read-content', () => ({
      text: `${narrator.operation(operation)} ${text}`,
      records: [operation],
    }));
  const change = stateAt(log.key(operation.model, operation.namespace, operation.name), log.indexAt(object.revision));
  if (change?.row.revision !== object.revision || change.row.new === null)
    return report(`was shown revision ${object.revision}, which is no state of that object`);
  const wrong = difference(change.row.new, object);
  if (wrong !== undefined || object.name !== operation.name || object.namespace !== operation.namespace)
    report(`was shown another object than ${narrator.change(change)}: ${wrong ?? 'its name'}`);
  const next = nextOf(change);
  const ended = next === undefined ? undefined : times.latestOf(next.index);
  if (ended === undefined || ended.at >= operation.invoked) return;
  violations.report('read-stale', () => ({
    text: `${narrator.operation(operation)} was shown ${narrator.change(change)}, though ${narrator.change(next)} or a later change had been seen by ${narrator.bound(ended)}`,
    records: [operation, change.row, next?.row, ended.source],
  }));
}

/** A list must have the newest state; a later chunk the state of the first one. */
export function checkListRevision(
  { log, times, violations, narrator, named }: Examination,
  operation: ListOperation,
): void {
  if (operation.outcome.type !== 'ok') return;
  const { revision } = operation.outcome;
  const { atLeast, exact, paging } = operation;
  const report = (text: string, records: unknown[] = []): void =>
    violations.report('read-stale', () => ({
      text: `${narrator.operation(operation)} is of revision ${revision}, ${text}`,
      records: [operation, ...records],
    }));
  if (atLeast !== undefined && revision < atLeast) report(`though not older than ${atLeast} was asked for`);
  if (exact === true && revision !== atLeast) report(`though exactly ${atLeast} was asked for`);
  if (paging.type === 'chunk' && paging.continued !== undefined) {
    const before = named.get(idText(paging.continued));
    const first = before?.verb === 'list' && before.outcome.type === 'ok' ? before.outcome.revision : undefined;
    if (first === undefined)
      violations.report('recording', () => ({
        text: `${narrator.operation(operation)} continues what is no list`,
        records: [operation, before],
      }));
    else if (first !== revision)
      violations.report('list-chunk', () => ({
        text: `${narrator.operation(operation)} is of revision ${revision}, and the chunk before it of ${first}`,
        records: [operation, before],
      }));
    return;
  }
  const ended = times.latestOf(log.indexAt(revision) + 1);
  if (ended.at < operation.invoked)
    report(`though a later change had been seen by ${narrator.bound(ended)}`, [ended.source]);
}
