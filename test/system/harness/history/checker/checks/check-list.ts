import type { ListAnswer, ListOperation, ObservedObject } from '../../history.ts';
import { idText, type Examination } from '../examination/examination.ts';
import type { LiveState } from '../log/live-state.ts';
import { listedDifference, orderOf } from '../log/object-match.ts';
import type { Change } from '../log/replayed-log.ts';
import type { Rule } from '../examination/violation.ts';

type Report = (rule: Rule, text: string, records?: unknown[]) => void;

/** The position of a list among all matches. */
interface Slice {
  start: number;
  /** The number of items in a chunk, which the server may shorten. */
  size: number;
}

/** A list must be exactly its selection of the state at its revision: objects, order, page, total. */
export function checkList(run: Examination, operation: ListOperation, state: LiveState): void {
  if (operation.outcome.type !== 'ok') return;
  const { narrator, violations, statistics } = run;
  const answer = operation.outcome;
  const report: Report = (rule, text, records = []) =>
    violations.report(rule, () => ({
      text: `${narrator.operation(operation)} at revision ${answer.revision} ${text}`,
      records: [operation, ...records],
    }));
  const matching = state.matching(operation.model, operation.namespace, operation.selector);
  statistics.add('lists checked');
  statistics.add('objects listed', answer.items.length);
  checkItems(answer.items, matching, report);
  const order = orderOf(operation.sort);
  checkOrder(answer.items, matching, { order, report });
  const slice = sliceOf(run, operation, answer);
  checkSlice(answer.items, matching, { slice, order, report });
  checkTotals(operation, answer, { slice, total: matching.length, report });
}

function checkItems(items: readonly ObservedObject[], matching: readonly Change[], report: Report): void {
  const expected = new Map(matching.map((change) => [`${change.row.namespace}/${change.row.name}`, change]));
  const seen = new Set<string>();
  for (const item of items) {
    const key = `${item.namespace}/${item.name}`;
    const change = expected.get(key);
    if (seen.has(key)) report('list-items', `has ${key} twice`);
    seen.add(key);
    if (change === undefined)
      report('list-items', `has ${key} (${item.revision}), which is not there or does not match`);
    else if (item.revision !== change.row.revision)
      report('list-items', `has ${key} at ${item.revision} instead of ${change.row.revision}`, [change.row]);
    else {
      const wrong = listedDifference(change.row.new!, item);
      if (wrong !== undefined)
        report('list-items', `has another ${key} than ${change.row.revision}: ${wrong}`, [change.row]);
    }
  }
}

type Order = ReturnType<typeof orderOf>;

function compare(order: Order, a: Change, b: Change): number {
  return order(a.row, a.row.new!, b.row, b.row.new!);
}

function checkOrder(
  items: readonly ObservedObject[],
  matching: readonly Change[],
  { order, report }: { order: Order; report: Report },
): void {
  const changes = changesOf(items, matching);
  for (let i = 1; i < changes.length; i += 1) {
    if (compare(order, changes[i - 1]!, changes[i]!) > 0)
      return report('list-order', `has ${items[i - 1]!.name} before ${items[i]!.name}`, [
        changes[i - 1]!.row,
        changes[i]!.row,
      ]);
  }
}

function changesOf(items: readonly ObservedObject[], matching: readonly Change[]): Change[] {
  const known = new Map(matching.map((change) => [`${change.row.namespace}/${change.row.name}`, change]));
  return items.flatMap(({ namespace, name }) => known.get(`${namespace}/${name}`) ?? []);
}

function sliceOf({ named }: Examination, { paging }: ListOperation, { items }: ListAnswer): Slice {
  if (paging.type === 'all') return { start: 0, size: Infinity };
  if (paging.type === 'page') return { start: (paging.page - 1) * paging.size, size: paging.size };
  let start = 0;
  for (let { continued } = paging; continued !== undefined;) {
    const before = named.get(idText(continued));
    if (before?.verb !== 'list' || before.outcome.type !== 'ok' || before.paging.type !== 'chunk') break;
    start += before.outcome.items.length;
    continued = before.paging.continued;
  }
  return { start, size: items.length };
}

/** Counts the objects before the first and between first and last item, instead of sorting all. */
function checkSlice(
  items: readonly ObservedObject[],
  matching: readonly Change[],
  { slice, order, report }: { slice: Slice; order: Order; report: Report },
): void {
  const expected = Math.max(0, Math.min(slice.size, matching.length - slice.start));
  const listed = new Set(items.map(({ namespace, name }) => `${namespace}/${name}`));
  if (items.length !== expected || slice.size === Infinity) {
    const missing =
      slice.size === Infinity ? matching.find(({ row }) => !listed.has(`${row.namespace}/${row.name}`)) : undefined;
    if (missing !== undefined)
      return report('list-items', `misses ${missing.row.namespace}/${missing.row.name} (${missing.row.revision})`, [
        missing.row,
      ]);
    if (items.length !== expected) report('list-items', `has ${items.length} objects instead of ${expected}`);
    return;
  }
  const changes = changesOf(items, matching);
  const [first, last] = [changes[0], changes.at(-1)];
  if (first === undefined || last === undefined) return;
  const before = matching.filter((change) => compare(order, change, first) < 0).length;
  if (before !== slice.start)
    report('list-items', `begins with the ${before + 1}th that matches instead of the ${slice.start + 1}th`);
  const missing = matching.find(
    (change) =>
      !listed.has(`${change.row.namespace}/${change.row.name}`) &&
      compare(order, change, first) > 0 &&
      compare(order, change, last) < 0,
  );
  if (missing !== undefined)
    report('list-items', `misses ${missing.row.namespace}/${missing.row.name} (${missing.row.revision})`, [
      missing.row,
    ]);
}

function checkTotals(
  { paging }: ListOperation,
  answer: ListAnswer,
  { slice, total, report }: { slice: Slice; total: number; report: Report },
): void {
  const isRight =
    answer.totalIsLowerBound === true ? answer.total !== undefined && answer.total <= total : answer.total === total;
  if (answer.total !== undefined && !isRight) report('list-total', `counts ${answer.total} instead of ${total}`);
  const left = total - slice.start - answer.items.length;
  if (answer.remaining !== undefined && answer.remaining !== left)
    report('list-total', `says that ${answer.remaining} remain instead of ${left}`);
  const hasNext = left > 0 && answer.items.length > 0;
  if (answer.hasNext !== undefined && answer.hasNext !== hasNext)
    report('list-total', `says that ${answer.hasNext ? 'a' : 'no'} page follows`);
  if (paging.type === 'chunk' && (answer.continues === true) !== left > 0)
    report(
      'list-chunk',
      `says that ${answer.continues === true ? 'more' : 'nothing more'} follows, and ${left} are left`,
    );
}
