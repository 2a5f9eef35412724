import type { JsonObject, JsonValue } from '@svc/client';

/** From the root of the value: names of properties, and places in lists. */
export type FieldPath = readonly (string | number)[];

/** `spec.ports[0].name`: as the server names the field of a cause. */
export function pathText(path: FieldPath): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  );
}

/** Is the field of a cause in this field, or this field itself? */
export function isWithin(field: string, place: string): boolean {
  return field === place || place === '' || (field.startsWith(place) && /^[.[]/.test(field.slice(place.length)));
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Own properties only, so that `constructor` finds nothing. */
export function ownValue(object: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;
}

export function valueAt(root: JsonValue | undefined, path: FieldPath): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>(
    (at, step) => (typeof step === 'number' ? (Array.isArray(at) ? at[step] : undefined) : ownValue(at, step)),
    root,
  );
}

/**
 * The value with another one at the path; undefined removes it. Every part that the path does not touch is the same
 * part. What the path needs is made, but nothing is made to remove something.
 */
export function withValueAt(
  root: JsonValue | undefined,
  path: FieldPath,
  value: JsonValue | undefined,
): JsonValue | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const list = Array.isArray(root) ? root : [];
    const before = list[step];
    const after = withValueAt(before, rest, value);
    if (after === before) return root;
    return after === undefined ? list.toSpliced(step, 1) : list.toSpliced(step, 1, after);
  }
  const before = ownValue(root, step);
  const after = withValueAt(before, rest, value);
  if (after === before) return root;
  const object = isObject(root) ? root : {};
  if (after !== undefined) return { ...object, [step]: after };
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== step));
}

/** The object with another name for a key, in its place. Undefined if it has the one not, or the other already. */
export function withRenamedKey(object: JsonValue | undefined, from: string, to: string): JsonObject | undefined {
  if (!isObject(object) || !Object.hasOwn(object, from) || Object.hasOwn(object, to)) return undefined;
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key === from ? to : key, value]));
}

/** The list with the element at `from` moved to `to`. */
export function withMoved(list: readonly JsonValue[], from: number, to: number): JsonValue[] {
  return list.toSpliced(from, 1).toSpliced(to, 0, list[from]!);
}

/** The object with these properties instead of those that are not in `declared`. Known ones keep their place. */
export function withOtherFields(
  object: JsonValue | undefined,
  declared: ReadonlySet<string>,
  others: JsonObject,
): JsonObject {
  const before = Object.entries(isObject(object) ? object : {});
  const kept = before
    .filter(([name]) => declared.has(name) || Object.hasOwn(others, name))
    .map(([name, value]): [string, JsonValue] => [name, declared.has(name) ? value : others[name]!]);
  const known = new Set(kept.map(([name]) => name));
  return Object.fromEntries([...kept, ...Object.entries(others).filter(([name]) => !known.has(name))]);
}
