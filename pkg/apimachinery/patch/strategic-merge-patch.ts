import { isJsonObject, type JsonObject, type JsonValue } from '../meta/object.ts';
import { newBadRequest } from '../status/status-error.ts';
import { isPrototypeKey, maxJsonDepth, newTooDeep } from '../serializer/value-rules.ts';
import { elementKey, inOrder, interleave } from './element-order.ts';

/**
 * The lists of a kind that merge, by their path: the field that identifies an element, or '' for a list of scalars. All
 * other lists are replaced.
 */
export type ListMergeKeys = Readonly<Record<string, string>>;

/** The lists in metadata that merge. Source: metav1.ObjectMeta. */
export const metadataMergeKeys: ListMergeKeys = { 'metadata.ownerReferences': 'uid', 'metadata.finalizers': '' };

const patchDirective = '$patch';
const retainDirective = '$retainKeys';
const orderPrefix = '$setElementOrder/';
const deletionPrefix = '$deleteFromPrimitiveList/';

/**
 * The document after a strategic merge patch: null deletes, objects merge, lists merge by `mergeKeys` or are replaced,
 * and directives in the patch say more. Neither argument is changed, and the result may share parts with them.
 * @throws StatusError 400 for a patch that is malformed, or for more than 100 levels.
 * Source: k8s.io/apimachinery/pkg/util/strategicpatch.
 */
export function applyStrategicMergePatch(document: JsonObject, patch: unknown, mergeKeys: ListMergeKeys): JsonObject {
  if (!isJsonObject(patch)) throw newBadRequest('a strategic merge patch must be an object');
  return mergeObject(document, patch, { path: '', mergeKeys, depth: 1 });
}

interface Place {
  path: string;
  mergeKeys: ListMergeKeys;
  depth: number;
}

function fieldOf({ path, mergeKeys, depth }: Place, field: string): Place {
  if (depth >= maxJsonDepth) throw newTooDeep();
  return { path: path === '' ? field : `${path}.${field}`, mergeKeys, depth: depth + 1 };
}

function mergeObject(original: JsonObject, patch: JsonObject, place: Place): JsonObject {
  const directive = patch[patchDirective];
  if (directive === 'delete') return {};
  if (directive === 'replace') return taken(without(patch, patchDirective), place) as JsonObject;
  if (directive !== undefined && directive !== 'merge') throw newBadDirective(directive, place);
  const result = retained(original, patch, place);
  const ordered = new Set<string>();
  for (const key of Object.keys(patch).filter((each) => each.startsWith(orderPrefix))) {
    const field = key.slice(orderPrefix.length);
    ordered.add(field);
    if (!isPrototypeKey(field)) setElementOrder(result, { field, order: patch[key]!, patch: patch[field] }, place);
  }
  for (const key of Object.keys(patch)) {
    if (isPrototypeKey(key) || ordered.has(key) || isDirective(key)) continue;
    if (key.startsWith(deletionPrefix)) deleteScalars(result, key.slice(deletionPrefix.length), patch[key]!, place);
    else if (patch[key] === null) delete result[key];
    else result[key] = mergeValue(result[key], patch[key]!, fieldOf(place, key));
  }
  return result;
}

const isDirective = (key: string): boolean =>
  key === patchDirective || key === retainDirective || key.startsWith(orderPrefix);

function mergeValue(original: JsonValue | undefined, patch: JsonValue, place: Place): JsonValue {
  if (isJsonObject(patch)) return mergeObject(isJsonObject(original) ? original : {}, patch, place);
  if (!Array.isArray(patch)) return patch;
  const mergeKey = mergeKeyOf(place);
  if (mergeKey === undefined) return taken(patch, place);
  return mergeList(Array.isArray(original) ? original : [], patch, { mergeKey, place });
}

function mergeKeyOf({ path, mergeKeys }: Place): string | undefined {
  return Object.hasOwn(mergeKeys, path) ? mergeKeys[path] : undefined;
}

/** A value that is not merged with anything: null in its objects deletes nothing, and is left out. */
function taken(value: JsonValue, place: Place): JsonValue {
  if (Array.isArray(value)) return value.map((item) => taken(item, fieldOf(place, '')));
  return isJsonObject(value) ? mergeObject({}, value, place) : value;
}

/** A copy of the original, without the fields that `$retainKeys` does not name. */
function retained(original: JsonObject, patch: JsonObject, { path }: Place): JsonObject {
  const retainKeys = patch[retainDirective];
  if (retainKeys === undefined) return { ...original };
  const names = new Set(Array.isArray(retainKeys) ? retainKeys : []);
  const isHeld = (key: string): boolean => key.startsWith('$') || patch[key] === null || names.has(key);
  if (!Array.isArray(retainKeys) || !Object.keys(patch).every(isHeld))
    throw newBadPatch(`${retainDirective} must be a list that names all fields of the patch`, path);
  return Object.fromEntries(Object.entries(original).filter(([key]) => names.has(key)));
}

interface ListMerge {
  mergeKey: string;
  place: Place;
}

/** Elements of the patch in its order, and the others where they were, as far as both allow. */
function mergeList(original: JsonValue[], patch: JsonValue[], { mergeKey, place }: ListMerge): JsonValue[] {
  const keyOf = (item: JsonValue): string => keyOfElement(item, { mergeKey, place });
  const { kept, changes, isReplaced } = mergeKey === '' ? asIs(original, patch) : deleted(original, patch, keyOf);
  if (isReplaced) return changes.map((item) => taken(item, fieldOf(place, '')));
  const merged = new Map(kept.map((item): [string, JsonValue] => [keyOf(item), item]));
  for (const item of changes) merged.set(keyOf(item), mergeValue(merged.get(keyOf(item)), item, fieldOf(place, '')));
  const inPatch = new Set(changes.map(keyOf));
  const others = kept.filter((item) => !inPatch.has(keyOf(item)));
  const patched = [...inPatch].map((key) => merged.get(key)!);
  return interleave(others, patched, kept, keyOf);
}

interface ListChanges {
  kept: JsonValue[];
  changes: JsonValue[];
  isReplaced: boolean;
}

const asIs = (kept: JsonValue[], changes: JsonValue[]): ListChanges => ({ kept, changes, isReplaced: false });

/** Carries out `$patch: delete` and `$patch: replace` of elements. */
function deleted(original: JsonValue[], patch: JsonValue[], keyOf: (item: JsonValue) => string): ListChanges {
  const gone = new Set<string>();
  const changes: JsonValue[] = [];
  let isReplaced = false;
  for (const item of patch) {
    const directive = isJsonObject(item) ? item[patchDirective] : undefined;
    if (directive === undefined || directive === 'merge') changes.push(item);
    else if (directive === 'replace') isReplaced = true;
    else if (directive === 'delete') gone.add(keyOf(item));
    else throw newBadDirective(directive, { path: '' });
  }
  return { kept: original.filter((item) => !gone.has(keyOf(item))), changes, isReplaced };
}

function keyOfElement(item: JsonValue, { mergeKey, place: { path } }: ListMerge): string {
  if (mergeKey === '') {
    if (typeof item === 'object' && item !== null) throw newBadPatch('a list of scalars has another element', path);
    return elementKey(item);
  }
  const value = isJsonObject(item) ? item[mergeKey] : undefined;
  if (value === undefined) throw newBadPatch(`an element has no ${mergeKey}, by which the list merges`, path);
  return elementKey(value);
}

interface ElementOrder {
  field: string;
  order: JsonValue;
  patch: JsonValue | undefined;
}

/** Merges the list, if the patch has it, and puts its elements into the order of `$setElementOrder`. */
function setElementOrder(result: JsonObject, { field, order, patch }: ElementOrder, outer: Place): void {
  const place = fieldOf(outer, field);
  if (patch === null) {
    delete result[field];
    return;
  }
  const original = result[field];
  if (!Array.isArray(order) || (patch !== undefined && !Array.isArray(patch)))
    throw newBadPatch(`${orderPrefix}${field} and the list must be lists`, outer.path);
  const list = patch === undefined ? original : mergeValue(original, patch, place);
  const mergeKey = mergeKeyOf(place);
  if (Array.isArray(list)) {
    const before = Array.isArray(original) ? original : [];
    result[field] =
      mergeKey === undefined
        ? list
        : inOrder(list, { order, before, keyOf: (item) => keyOfElement(item, { mergeKey, place }) });
  }
}

function deleteScalars(result: JsonObject, field: string, gone: JsonValue, { path }: Place): void {
  if (!Array.isArray(gone)) throw newBadPatch(`${deletionPrefix}${field} must be a list`, path);
  const list = isPrototypeKey(field) ? undefined : result[field];
  if (!Array.isArray(list)) return;
  const keys = new Set(gone.map(elementKey));
  result[field] = list.filter((item) => !keys.has(elementKey(item)));
}

function without(object: JsonObject, key: string): JsonObject {
  const { [key]: _, ...rest } = object;
  return rest;
}

function newBadDirective(directive: JsonValue, { path }: Pick<Place, 'path'>): Error {
  const shown = (JSON.stringify(directive) ?? '').slice(0, 60);
  return newBadPatch(`${patchDirective} may be "merge", "replace" or "delete", not ${shown}`, path);
}

function newBadPatch(detail: string, path: string): Error {
  const at = path === '' ? '' : ` at ${path.slice(0, 200)}`;
  return newBadRequest(`the strategic merge patch is malformed${at}: ${detail}`);
}
