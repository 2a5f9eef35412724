import type { JsonObject, JsonValue, SlicedWork } from '#pkg/apimachinery/index';
import { type FieldSet, intersectingSets, subtractingSets, unitingSets } from '../fieldpath/field-set.ts';
import { mergingTyped } from '../typed/merge.ts';
import { addingNamedFields } from '../typed/named-fields.ts';
import { removingFields } from '../typed/remove.ts';
import { collectingFields } from '../typed/to-field-set.ts';
import type { TypeNode } from '../typed/type-node.ts';
import {
  type ConvertObject,
  type ManagerId,
  type Managers,
  type ManagerState,
  managerKey,
  type NodeOfVersion,
  type SetFilter,
} from './managers.ts';
import { takingFromOthers } from './update-managers.ts';
import { isEmpty, isEmptyMap } from '../fieldpath/is-empty.ts';
import { isSliceEnd } from '../fieldpath/slice-end.ts';

export interface Application {
  live: JsonObject;
  config: JsonObject;
  /** The manager that applies, in the version of both objects. */
  self: ManagerId;
  force: boolean;
  nodeOf: NodeOfVersion;
  convert: ConvertObject;
  filter: SetFilter;
}

/**
 * Merges an applied configuration into a live object: what the manager applied before and does not any more is removed,
 * unless others own it. Both were validated. Changes `managers`, whose sets fit today's schemas.
 * @throws ManagerConflicts unless `force`, if others own fields that would change.
 */
export function* applyingConfig(application: Application, managers: Managers): SlicedWork<JsonObject> {
  const { live, config, self, force, nodeOf, convert, filter } = application;
  const node = nodeOf(self.apiVersion)!;
  const key = managerKey(self);
  const last = managers.get(key);
  const merged = (yield* mergingTyped(node, live, config)) as JsonObject;
  const set = filter(yield* collectingFields(node, config));
  managers.set(key, { ...self, time: last?.time, set });
  const releases = last !== undefined && (yield* mayRelease(last, managers.get(key)!, config));
  const pruned = releases ? yield* pruning(merged, { last, self, nodeOf, convert }, managers) : merged;
  yield* takingFromOthers(
    { from: live, to: pruned, apiVersion: self.apiVersion, nodeOf, convert, filter },
    managers,
    key,
    force,
  );
  return pruned;
}

/**
 * False if the manager applied nothing before that it does not apply now. An empty map may release what is in the live
 * one: it owns the map alone.
 */
function* mayRelease(last: ManagerState, now: ManagerState, config: JsonObject): SlicedWork<boolean> {
  if (last.apiVersion !== now.apiVersion || !isEmpty(yield* subtractingSets(last.set, now.set))) return true;
  return yield* hasEmptyMap(config);
}

/** Whether an empty map, or null, is anywhere in it. */
function* hasEmptyMap(value: JsonObject | readonly JsonValue[]): SlicedWork<boolean> {
  for (const member of Object.values(value)) {
    if (isSliceEnd()) yield;
    if (member === null || isEmptyMap(member)) return true;
    if (typeof member === 'object' && (yield* hasEmptyMap(member))) return true;
  }
  return false;
}

interface Pruning extends Pick<Application, 'nodeOf' | 'convert' | 'self'> {
  last: ManagerState;
}

/** Removes what the manager applied last and nobody owns now; in the version of `self`. */
function* pruning(
  merged: JsonObject,
  { last, self, nodeOf, convert }: Pruning,
  managers: Managers,
): SlicedWork<JsonObject> {
  const node = nodeOf(last.apiVersion);
  if (node === undefined) return merged;
  const lastSet = yield* addingNamedFields(node, last.set);
  const mergedThen = convert(merged, last.apiVersion);
  let pruned = (yield* removingFields(node, mergedThen, lastSet)) as JsonObject;
  for (const [version, owned] of yield* ownedByVersion(managers, last.apiVersion)) {
    const versionNode = nodeOf(version);
    if (versionNode === undefined) continue;
    const [whole, part] = [convert(merged, version), convert(pruned, version)];
    pruned = (yield* addingBackOwned(versionNode, whole, part, owned)) as JsonObject;
  }
  const kept = yield* addingBackUnowned(node, mergedThen, convert(pruned, last.apiVersion), lastSet);
  return convert(kept as JsonObject, self.apiVersion);
}

/** What all managers own, by the versions of their sets; `first` is the first of these. */
function* ownedByVersion(managers: Managers, first: string): SlicedWork<Map<string, FieldSet>> {
  const owned = new Map<string, FieldSet>([[first, {}]]);
  for (const { apiVersion, set } of managers.values())
    owned.set(apiVersion, yield* unitingSets(owned.get(apiVersion) ?? {}, set));
  return owned;
}

/** `merged` without what was pruned and is not owned. */
function* addingBackOwned(
  node: TypeNode,
  merged: JsonValue,
  pruned: JsonValue,
  owned: FieldSet,
): SlicedWork<JsonValue> {
  const named = yield* addingNamedFields(node, owned);
  const left = yield* memberSet(node, pruned);
  const kept = yield* unitingSets(left, named);
  const all = yield* memberSet(node, merged);
  const gone = yield* subtractingSets(all, kept);
  return yield* removingFields(node, merged, gone);
}

/** `merged` without what was pruned and was owned: a field that nobody owns stays. */
function* addingBackUnowned(
  node: TypeNode,
  merged: JsonValue,
  pruned: JsonValue,
  last: FieldSet,
): SlicedWork<JsonValue> {
  const all = yield* memberSet(node, merged);
  const left = yield* memberSet(node, pruned);
  const gone = yield* subtractingSets(all, left);
  return yield* removingFields(node, merged, yield* intersectingSets(gone, last));
}

function* memberSet(node: TypeNode, value: JsonValue): SlicedWork<FieldSet> {
  return yield* addingNamedFields(node, yield* collectingFields(node, value));
}
