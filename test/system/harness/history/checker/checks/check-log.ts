import type { LogRow } from '../../history.ts';
import type { Examination } from '../examination/examination.ts';
import { difference } from '../log/object-match.ts';
import { stateAt, type Change } from '../log/replayed-log.ts';

/** Checks the log itself. */
export function checkLog(run: Examination): void {
  checkOrder(run);
  for (const key of run.log.keys.values()) {
    for (const [position, change] of key.changes.entries()) checkChange(run, change, key.changes[position - 1]);
  }
  checkMarkers(run);
  for (const { name, unique } of run.history.models) for (const index of unique) checkUnique(run, name, index);
  checkDrops(run);
  run.statistics.add('log rows', run.log.changes.length);
  run.statistics.add('keys', run.log.keys.size);
}

function checkOrder({ history, log, violations, narrator }: Examination): void {
  for (const revision of history.lostRevisions ?? []) {
    violations.report('log-order', () => ({
      text: `revision ${revision} was in the log and is gone`,
      records: [log.changes[log.indexAt(revision)]?.row],
    }));
  }
  for (const rows of log.repeated) {
    violations.report('log-order', () => ({
      text: `revision ${rows[0].revision} is in the log twice: ${narrator.row(rows[0])}, ${narrator.row(rows[1])}`,
      records: rows,
    }));
  }
  let visible: LogRow | undefined;
  for (const { row } of log.changes.toReversed()) {
    if (visible !== undefined && row.recorded > visible.recorded) {
      const later = visible;
      violations.report('log-order', () => ({
        text: `revision ${row.revision} became visible at ${narrator.time(row.recorded)}, after ${later.revision}, seen at ${narrator.time(later.recorded)}`,
        records: [row, later],
      }));
    } else visible = row;
  }
}

function checkChange({ violations, narrator }: Examination, { row }: Change, before: Change | undefined): void {
  const prior =
    before === undefined || before.row.type === 'D' || before.row.incarnation !== row.incarnation
      ? undefined
      : before.row;
  const report = (what: string): void =>
    violations.report('log-chain', () => ({ text: `${narrator.row(row)} ${what}`, records: [row, before?.row] }));
  if (row.new === null) return report('has no body');
  if (row.type === 'C') {
    if (prior !== undefined) report(`creates what is there since ${narrator.row(prior)}`);
    if (row.previous !== null || row.old !== null) report(`creates, and names ${row.previous} as what it replaced`);
    if (before?.row.new?.uid === row.new.uid) report(`has the uid of an earlier object, ${row.new.uid}`);
    return;
  }
  if (prior === undefined)
    return report(`changes what is not there after ${before === undefined ? 'nothing' : narrator.row(before.row)}`);
  if (row.previous !== prior.revision) report(`names ${row.previous} as what it replaced, which was ${prior.revision}`);
  const wrongOld = row.old === null || prior.new === null ? 'none' : difference(prior.new, row.old);
  if (wrongOld !== undefined) report(`has another old body than ${prior.revision} left: ${wrongOld}`);
  if (row.new.uid !== prior.new?.uid) report(`changes the uid from ${prior.new?.uid} to ${row.new.uid}`);
  if (row.type === 'D' && prior.new !== null && difference(prior.new, row.new) !== undefined)
    report(`deletes, and changes the body: ${difference(prior.new, row.new)}`);
}

/** Each body belongs to one write. */
function checkMarkers({ log, violations, narrator }: Examination): void {
  for (const change of log.changes) {
    const { row, key } = change;
    if (key === undefined || row.new === null) continue;
    const first = row.type === 'D' ? log.deletions.get(row.new.uid) : log.byMarker.get(row.new.marker);
    if (first === undefined || first === change) continue;
    const what =
      row.type === 'D' ? `object ${row.new.uid} is deleted twice` : `the write ${row.new.marker} is applied twice`;
    violations.report('write-twice', () => ({
      text: `${what}: ${narrator.change(first)}, ${narrator.change(change)}`,
      records: [first.row, row],
    }));
  }
}

function checkUnique({ log, violations, narrator, statistics }: Examination, model: string, index: string): void {
  const holders = new Map<unknown, Change>();
  for (const change of log.byModel.get(model) ?? []) {
    const { row, key } = change;
    const old = row.type === 'C' ? undefined : row.old?.fields[index];
    if (old !== undefined && old !== null && holders.get(old)?.key === key) holders.delete(old);
    const value = row.type === 'D' ? undefined : row.new?.fields[index];
    if (value === undefined || value === null) continue;
    const holder = holders.get(value);
    statistics.add('unique values taken');
    if (holder !== undefined && holder.key !== key && holder.row.incarnation === row.incarnation) {
      violations.report('log-unique', () => ({
        text: `${narrator.change(change)} takes ${index}=${JSON.stringify(value)}, which ${narrator.change(holder)} holds`,
        records: [holder.row, row],
      }));
    }
    holders.set(value, change);
  }
}

/** Watchers get the deletion of every object before the model is dropped. */
function checkDrops({ history, log, violations, narrator, statistics }: Examination): void {
  for (const incarnation of history.incarnations) {
    if (incarnation.dropped === undefined) continue;
    statistics.add('models dropped');
    const end = log.indexAt(incarnation.dropped);
    for (const key of log.keys.values()) {
      const left = key.model === incarnation.model ? stateAt(key, end) : undefined;
      if (left?.row.incarnation !== incarnation.id) continue;
      violations.report('log-model', () => ({
        text: `${incarnation.model} was dropped at ${incarnation.dropped}, and ${narrator.change(left)} vanished without a deletion`,
        records: [incarnation, left.row],
      }));
    }
    const after = log.byModel
      .get(incarnation.model)
      ?.find(({ row }) => row.incarnation === incarnation.id && row.revision > incarnation.dropped!);
    if (after !== undefined) {
      violations.report('log-model', () => ({
        text: `${narrator.change(after)} was written after ${incarnation.model} was dropped at ${incarnation.dropped}`,
        records: [incarnation, after.row],
      }));
    }
  }
}
