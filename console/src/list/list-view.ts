import type { IndexCondition, Scalar, Where, IndexTypes, WhereLabels } from '@svc/client';

/** What a list shows: all of it is in the URL. */
export interface ListView {
  namespace: string;
  conditions: readonly FieldCondition[];
  labels: readonly LabelCondition[];
  /** `spec.year`, or `spec.year,desc`. */
  sort: readonly string[];
  /** Names of columns in their order; empty: those that the model always shows. */
  columns: readonly string[];
}

export const fieldOperators = ['=', '!=', '^=', '>=', '<=', '>', '<', 'exists', 'missing'] as const;
export type FieldOperator = (typeof fieldOperators)[number];

export interface FieldCondition {
  index: string;
  operator: FieldOperator;
  /** Empty for `exists` and `missing`. */
  value: string;
}

export interface LabelCondition {
  key: string;
  /** Undefined: the label is there, whatever its value. */
  value: string | undefined;
}

export function readListView(params: URLSearchParams): ListView {
  return {
    namespace: params.get('ns') ?? '',
    conditions: params.getAll('f').flatMap((text) => parseCondition(text) ?? []),
    labels: params.getAll('l').flatMap((text) => parseLabel(text) ?? []),
    sort: params.getAll('sort'),
    columns: params.getAll('col'),
  };
}

export function writeListView({ namespace, conditions, labels, sort, columns }: ListView): URLSearchParams {
  const params = new URLSearchParams();
  if (namespace !== '') params.set('ns', namespace);
  for (const condition of conditions) params.append('f', conditionText(condition));
  for (const label of labels) params.append('l', labelText(label));
  for (const key of sort) params.append('sort', key);
  for (const name of columns) params.append('col', name);
  return params;
}

/** As a person writes it: `spec.year>=2020`, `spec.year`, `!spec.year`. */
export function conditionText({ index, operator, value }: FieldCondition): string {
  if (operator === 'exists') return index;
  return operator === 'missing' ? `!${index}` : `${index}${operator}${value}`;
}

export function labelText({ key, value }: LabelCondition): string {
  return value === undefined ? key : `${key}=${value}`;
}

const conditionForm = /^(!?)([^\s!=<>^]+)(?:(!=|\^=|>=|<=|=|>|<)(.*))?$/s;

export function parseCondition(text: string): FieldCondition | undefined {
  const [, not, index, operator, value = ''] = conditionForm.exec(text) ?? [];
  if (index === undefined || (not === '!' && operator !== undefined)) return undefined;
  if (operator === undefined) return { index, operator: not === '!' ? 'missing' : 'exists', value: '' };
  return { index, operator: operator as FieldOperator, value };
}

export function parseLabel(text: string): LabelCondition | undefined {
  const [, key, value] = /^\s*([^\s=!,()]+)\s*(?:=\s*([^\s=!,()]*)\s*)?$/.exec(text) ?? [];
  return key === undefined ? undefined : { key, value };
}

/** Several values of one field by `=` are alternatives; everything else must hold at once. */
export function selectionOf({ conditions, labels }: Pick<ListView, 'conditions' | 'labels'>): {
  where: Where<IndexTypes>;
  labels: WhereLabels;
} {
  const where = new Map<string, TextCondition>();
  for (const { index, operator, value } of conditions) {
    const known = where.get(index) ?? {};
    where.set(index, { ...known, ...conditionOf(operator, value, known) });
  }
  return {
    where: Object.fromEntries(where),
    labels: Object.fromEntries(labels.map(({ key, value }) => [key, value ?? { exists: true }])),
  };
}

type TextCondition = Exclude<IndexCondition<string>, Scalar>;

function conditionOf(operator: FieldOperator, value: string, known: TextCondition): TextCondition {
  const all: Record<FieldOperator, TextCondition> = {
    '=': { in: [...(known.in ?? []), value] },
    '!=': { notIn: [...(known.notIn ?? []), value] },
    '^=': { prefix: value },
    '>': { gt: value },
    '>=': { gte: value },
    '<': { lt: value },
    '<=': { lte: value },
    exists: { exists: true },
    missing: { exists: false },
  };
  return all[operator];
}

/** The next order by this key: ascending, descending, none. With `add` the other keys stay. */
export function toggleSort(sort: readonly string[], key: string, { add }: { add: boolean }): string[] {
  const at = sort.findIndex((each) => keyOf(each) === key);
  const next = at === -1 ? [key] : sort[at] === `${key},desc` ? [] : [`${key},desc`];
  if (!add) return next;
  return at === -1 ? [...sort, ...next] : sort.toSpliced(at, 1, ...next);
}

export function directionOf(sort: readonly string[], key: string): 'ascending' | 'descending' | undefined {
  const found = sort.find((each) => keyOf(each) === key);
  if (found === undefined) return undefined;
  return found.endsWith(',desc') ? 'descending' : 'ascending';
}

/** The order with another direction of this key. */
export function withSortKey(
  sort: readonly string[],
  key: string,
  direction: 'ascending' | 'descending',
): readonly string[] {
  return sort.map((each) => (keyOf(each) !== key ? each : direction === 'descending' ? `${key},desc` : key));
}

export function keyOf(sortKey: string): string {
  return sortKey.replace(/,(?:asc|desc)$/, '');
}
