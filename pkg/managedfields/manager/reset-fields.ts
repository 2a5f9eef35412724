import { setBelow, type FieldSet, insertAt, leaf, recursiveDifference } from '../fieldpath/field-set.ts';
import { fieldElement } from '../fieldpath/path-element.ts';
import type { SetFilter } from '../merge/managers.ts';

/**
 * The fields that a request to an endpoint does not change whatever it contains, as paths of field names; nobody owns
 * them by such a request. `reset` names them, `keep` names all others: `{ keep: [['status']] }` is what `/status` has.
 */
export type ResetFields = { reset: readonly (readonly string[])[] } | { keep: readonly (readonly string[])[] };

/** Leaves out of a set what is reset. */
export function newResetFilter(fields: ResetFields | undefined): SetFilter {
  if (fields === undefined) return (set) => set;
  if ('reset' in fields) {
    const reset = newFieldSet(fields.reset);
    return (set) => recursiveDifference(set, reset);
  }
  const kept = fields.keep.map((path) => path.map(fieldElement));
  return (set) => keepOnly(set, kept);
}

export function newFieldSet(paths: readonly (readonly string[])[]): FieldSet {
  const set: FieldSet = {};
  for (const path of paths) insertAt(set, path.map(fieldElement), leaf);
  return set;
}

/** The parts of a set at and below the paths. */
function keepOnly(set: FieldSet, paths: readonly (readonly string[])[]): FieldSet {
  const result: FieldSet = {};
  for (const path of paths) {
    let value: FieldSet | undefined = set;
    for (const element of path) value = value === undefined ? undefined : setBelow(value, element);
    if (value !== undefined) insertAt(result, path, value);
  }
  return result;
}
