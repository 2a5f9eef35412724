import type { FieldClause, FieldValue, LabelClause, ObjectState, SelectorRecord } from '../../history.ts';

/** An object's namespace and name. */
export interface Place {
  namespace: string;
  name: string;
}

/**
 * Whether the selector matches the object. Implemented from the contract, because it checks the server's own matcher.
 */
export type Matcher = (place: Place, state: ObjectState) => boolean;

export function matcherOf({ labels, fields }: SelectorRecord): Matcher {
  if (labels.length + fields.length === 0) return () => true;
  return (place, state) =>
    labels.every((clause) => labelHolds(clause, state.labels)) &&
    fields.every((clause) => fieldHolds(clause, fieldOf(place, state, clause.field)));
}

/** The value of an index; absent is null. */
export function fieldOf(place: Place, state: ObjectState, field: string): FieldValue {
  if (field === 'metadata.name') return place.name;
  if (field === 'metadata.namespace') return place.namespace === '' ? null : place.namespace;
  return state.fields[field] ?? null;
}

function labelHolds(clause: LabelClause, labels: Record<string, string>): boolean {
  const value = Object.hasOwn(labels, clause.key) ? labels[clause.key] : undefined;
  switch (clause.operator) {
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'in':
      return value !== undefined && clause.values.includes(value);
    default:
      return value === undefined || !clause.values.includes(value);
  }
}

function fieldHolds(clause: FieldClause, value: FieldValue): boolean {
  const values = Array.isArray(value) ? value : value === null ? [] : [value];
  switch (clause.operator) {
    case 'exists':
      return values.length > 0;
    case 'absent':
      return values.length === 0;
    case 'in':
      return values.some((each) => clause.values.includes(each));
    case 'notIn':
      return !values.some((each) => clause.values.includes(each));
    case 'prefix':
      return typeof value === 'string' && value.startsWith(clause.value);
    default:
      return value !== null && !Array.isArray(value) && compares(clause.operator, value, clause.value);
  }
}

function compares(operator: '>' | '>=' | '<' | '<=', a: string | number | boolean, b: string | number): boolean {
  switch (operator) {
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    case '<':
      return a < b;
    default:
      return a <= b;
  }
}

/**
 * Orders objects like a list: nulls first when ascending, ties by namespace and name in the direction of the last key.
 */
export function orderOf(
  sort: readonly { field: string; descending: boolean }[],
): (a: Place, aState: ObjectState, b: Place, bState: ObjectState) => number {
  const lastSign = sort.at(-1)?.descending === true ? -1 : 1;
  return (a, aState, b, bState) => {
    for (const { field, descending } of sort) {
      const order = compareValues(fieldOf(a, aState, field), fieldOf(b, bState, field));
      if (order !== 0) return descending ? -order : order;
    }
    return lastSign * (compareValues(a.namespace, b.namespace) || compareValues(a.name, b.name));
  };
}

function compareValues(a: FieldValue, b: FieldValue): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The difference between two bodies as text; undefined if there is none. */
export function difference(expected: ObjectState, found: ObjectState): string | undefined {
  if (expected.marker !== found.marker) return `marker ${found.marker} instead of ${expected.marker}`;
  if (expected.uid !== found.uid) return `uid ${found.uid} instead of ${expected.uid}`;
  return (
    recordDifference('label', expected.labels, found.labels) ?? recordDifference('field', expected.fields, found.fields)
  );
}

/** The same for an object in a list, whose labels and fields may be missing to save memory. */
export function listedDifference(expected: ObjectState, found: ObjectState): string | undefined {
  const isShort = Object.keys(found.labels).length + Object.keys(found.fields).length === 0;
  return difference(expected, isShort ? { ...found, labels: expected.labels, fields: expected.fields } : found);
}

/** Absent and null are equal. */
export function recordDifference(
  kind: string,
  expected: Record<string, FieldValue>,
  found: Record<string, FieldValue>,
): string | undefined {
  for (const key in expected)
    if (!sameValue(expected[key], found[key]))
      return `${kind} ${key} is ${JSON.stringify(found[key])} instead of ${JSON.stringify(expected[key])}`;
  for (const key in found)
    if (!(key in expected) && !sameValue(expected[key], found[key]))
      return `${kind} ${key} is ${JSON.stringify(found[key])} and should be absent`;
  return undefined;
}

/** A set has no order and no duplicates. */
function sameValue(a: FieldValue | undefined, b: FieldValue | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) || Array.isArray(b)) return JSON.stringify(setOf(a)) === JSON.stringify(setOf(b));
  return (a ?? null) === (b ?? null);
}

function setOf(value: FieldValue | undefined): unknown[] {
  const values: (string | number | boolean)[] = Array.isArray(value)
    ? value
    : value === null || value === undefined
      ? []
      : [value];
  return [...new Set(values)].toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
}
