import type { JsonObject, SlicedWork } from '#pkg/apimachinery/index';
import { intersectingSets, subtractingSets } from '../fieldpath/field-set.ts';
import { type FieldChanges, comparingTyped } from '../typed/compare.ts';
import { reconcileFieldSet } from '../typed/reconcile.ts';
import { ManagerConflicts, type ManagerConflict } from './manager-conflicts.ts';
import { sameFields, type ConvertObject, type Managers, type NodeOfVersion, type SetFilter } from './managers.ts';
import { isEmpty } from '../fieldpath/is-empty.ts';

export interface ObjectChange {
  from: JsonObject;
  to: JsonObject;
  /** The version of both objects. */
  apiVersion: string;
  nodeOf: NodeOfVersion;
  convert: ConvertObject;
  filter: SetFilter;
}

/**
 * Drops the managers of versions that are not served, and gives the sets of the others the form of today's schemas.
 * Changes `managers`.
 */
export function* reconcilingManagers(managers: Managers, nodeOf: NodeOfVersion): SlicedWork<void> {
  for (const [key, manager] of managers) {
    yield;
    const node = nodeOf(manager.apiVersion);
    if (node === undefined) {
      managers.delete(key);
      continue;
    }
    const set = reconcileFieldSet(node, manager.set);
    if (set !== manager.set) managers.set(key, { ...manager, set });
  }
}

/**
 * Takes the changed and the removed fields from all managers but `self`, and drops those that own nothing any more.
 * Changes `managers`.
 * @returns the comparison in the version of the objects.
 * @throws ManagerConflicts unless `force`, if others own fields that changed.
 * @throws TypedError if the objects do not have their types.
 */
export function* takingFromOthers(
  change: ObjectChange,
  managers: Managers,
  self: string,
  force: boolean,
): SlicedWork<FieldChanges> {
  const comparisons = new Map<string, FieldChanges>();
  const own = (yield* comparingIn(change, change.apiVersion, comparisons))!;
  const conflicts: ManagerConflict[] = [];
  for (const [key, manager] of managers) {
    if (key === self) continue;
    const comparison = yield* comparingIn(change, manager.apiVersion, comparisons);
    if (comparison === undefined) {
      managers.delete(key);
      continue;
    }
    let { set } = manager;
    if (!isEmpty(comparison.changed)) {
      const rest = yield* subtractingSets(set, comparison.changed);
      if (rest !== set && !force) conflicts.push({ manager, set: yield* intersectingSets(set, comparison.changed) });
      set = rest;
    }
    if (!isEmpty(comparison.removed)) set = yield* subtractingSets(set, comparison.removed);
    if (set !== manager.set) managers.set(key, { ...manager, set });
  }
  if (conflicts.length > 0) throw new ManagerConflicts(conflicts);
  for (const [key, manager] of managers) if (isEmpty(manager.set)) managers.delete(key);
  return own;
}

function* comparingIn(
  { from, to, apiVersion, nodeOf, convert, filter }: ObjectChange,
  version: string,
  comparisons: Map<string, FieldChanges>,
): SlicedWork<FieldChanges | undefined> {
  const present = comparisons.get(version);
  if (present !== undefined) return present;
  const node = nodeOf(version);
  if (node === undefined) return undefined;
  const isSameType = convert === sameFields && version !== apiVersion && node === nodeOf(apiVersion);
  const sameTypes = isSameType ? comparisons.get(apiVersion) : undefined;
  let comparison = sameTypes;
  if (comparison === undefined) {
    const [before, after] = version === apiVersion ? [from, to] : [convert(from, version), convert(to, version)];
    const { changed, removed } = yield* comparingTyped(node, before, after);
    yield;
    comparison = { changed: filter(changed), removed: filter(removed) };
  }
  comparisons.set(version, comparison);
  return comparison;
}
