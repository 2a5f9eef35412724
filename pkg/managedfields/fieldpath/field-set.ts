import { runSync, type SlicedWork } from '#pkg/apimachinery/index';
import { compareElements } from './path-element.ts';
import { isEmpty } from './is-empty.ts';
import { isSliceEnd } from './slice-end.ts';

/**
 * A set of fields of an object, in the form of `fieldsV1`: each key is a path element (`f:spec`, `k:{"name":"a"}`,
 * `v:"a"`), its value the set below it. An element is itself a member if its value is empty or has the key `.`. The
 * functions change no argument, and return the first one itself (===) if the result is equal.
 */
export interface FieldSet {
  [element: string]: FieldSet;
}

/** The key of a value that says: the element itself is a member, too. */
export const selfKey = '.';
/** A member without members below it. */
export const leaf: FieldSet = Object.freeze({});

/** Whether the element with this value is itself a member. */
export function isMember(value: FieldSet): boolean {
  return selfKey in value || isEmpty(value);
}

export function hasPath(set: FieldSet, path: readonly string[]): boolean {
  let value: FieldSet | undefined = set;
  for (const element of path) value = value === undefined ? undefined : setBelow(value, element);
  return value !== undefined && path.length > 0 && isMember(value);
}

/** The set below an element; undefined if neither it nor anything below it is in the set. */
export function setBelow(set: FieldSet, element: string): FieldSet | undefined {
  return Object.hasOwn(set, element) ? set[element] : undefined;
}

export function* unitingSets(a: FieldSet, b: FieldSet): SlicedWork<FieldSet> {
  if (a === b || isEmpty(b)) return a;
  let result = a;
  for (const element in b) {
    if (isSliceEnd()) yield;
    const left = setBelow(a, element);
    const right = b[element]!;
    const united = left === undefined || left === right ? right : yield* unitingValues(left, right);
    if (united === left) continue;
    if (result === a) result = yield* copyingSet(a);
    result[element] = united;
  }
  return result;
}

/** The union of all. Pairs are united first, so that a large set is not copied for each small one. */
export function* unitingAll(sets: readonly FieldSet[]): SlicedWork<FieldSet> {
  let left = [...sets];
  while (left.length > 1) {
    const united: FieldSet[] = [];
    for (let at = 0; at < left.length; at += 2) {
      const [first, second] = [left[at]!, left[at + 1]];
      united.push(second === undefined ? first : yield* unitingSets(first, second));
    }
    left = united;
  }
  return left[0] ?? {};
}

/** The values of one element that is in both sets. */
function* unitingValues(a: FieldSet, b: FieldSet): SlicedWork<FieldSet> {
  if (isEmpty(a)) return isEmpty(b) ? a : yield* addingSelf(b);
  return isEmpty(b) ? yield* addingSelf(a) : yield* unitingSets(a, b);
}

export function uniteValues(a: FieldSet, b: FieldSet): FieldSet {
  return a === b ? a : runSync(unitingValues(a, b));
}

/** The value of an element that has others below it and is a member itself. */
export function* addingSelf(value: FieldSet): SlicedWork<FieldSet> {
  return selfKey in value ? value : yield* copyingSet(value, { [selfKey]: leaf });
}

/** A copy that may be changed. Of a large set it is faster than a spread. */
export function* copyingSet(set: FieldSet, copy: FieldSet = {}): SlicedWork<FieldSet> {
  for (const element in set) {
    if (isSliceEnd()) yield;
    copy[element] = set[element]!;
  }
  return copy;
}

export function copySet(set: FieldSet): FieldSet {
  return runSync(copyingSet(set));
}

/** Which fields of an element go, if the element itself is a member of the set that is removed. */
type Removal = 'member' | 'below';

/** The members of `a` that are not members of `b`. What is below a member of `b` stays. */
export function* subtractingSets(a: FieldSet, b: FieldSet): SlicedWork<FieldSet> {
  return yield* subtracting(a, b, 'member');
}

/** `a` without the members of `b` and without all that is below them. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return runSync(subtracting(a, b, 'below'));
}

function* subtracting(a: FieldSet, b: FieldSet, removal: Removal): SlicedWork<FieldSet> {
  return hasCommonElement(a, b) ? ((yield* subtractingBelow(a, b, removal, false)) ?? {}) : a;
}

function hasCommonElement(a: FieldSet, b: FieldSet): boolean {
  for (const element in b) if (element !== selfKey && Object.hasOwn(a, element)) return true;
  return false;
}

/** The value of an element that is in both sets; undefined if nothing is left. */
function* subtractingValue(a: FieldSet, b: FieldSet, removal: Removal): SlicedWork<FieldSet | undefined> {
  const isRemoved = isMember(b);
  if (isRemoved && removal === 'below') return undefined;
  if (isEmpty(a)) return isRemoved ? undefined : a;
  const losesSelf = isRemoved && selfKey in a;
  if (!losesSelf && !hasCommonElement(a, b)) return a;
  const hasSelf = selfKey in a && !isRemoved;
  const rest = yield* subtractingBelow(a, b, removal, hasSelf);
  if (rest === undefined) return hasSelf ? leaf : undefined;
  return rest;
}

/** A new set, because deleting from one is slow; `a` itself if it is equal, undefined if nothing is below. */
function* subtractingBelow(
  a: FieldSet,
  b: FieldSet,
  removal: Removal,
  hasSelf: boolean,
): SlicedWork<FieldSet | undefined> {
  const result: FieldSet = hasSelf ? { [selfKey]: leaf } : {};
  let isSame = hasSelf === selfKey in a;
  let isNothingLeft = true;
  for (const element in a) {
    if (element === selfKey) continue;
    if (isSliceEnd()) yield;
    const left = a[element]!;
    const right = setBelow(b, element);
    let rest: FieldSet | undefined = left;
    if (right !== undefined && left === leaf) rest = isMember(right) ? undefined : left;
    else if (right !== undefined) rest = yield* subtractingValue(left, right, removal);
    if (rest !== left) isSame = false;
    if (rest === undefined) continue;
    result[element] = rest;
    isNothingLeft = false;
  }
  if (isSame) return a;
  return isNothingLeft ? undefined : result;
}

/** The members that both sets have. */
export function* intersectingSets(a: FieldSet, b: FieldSet): SlicedWork<FieldSet> {
  const result: FieldSet = {};
  for (const element in b) {
    if (isSliceEnd()) yield;
    const left = element === selfKey ? undefined : setBelow(a, element);
    if (left === undefined) continue;
    const right = b[element]!;
    if (left === leaf && right === leaf) {
      result[element] = leaf;
      continue;
    }
    const below = yield* intersectingSets(left, right);
    if (isMember(left) && isMember(right)) result[element] = isEmpty(below) ? leaf : yield* addingSelf(below);
    else if (!isEmpty(below)) result[element] = below;
  }
  return result;
}

/** Counts the elements of a set on all levels; stops soon after `most`. */
export function countElements(set: FieldSet, most: number): number {
  let count = 0;
  for (const element in set) {
    if (count > most) break;
    if (element === selfKey) continue;
    const below = set[element]!;
    count += below === leaf ? 1 : 1 + countElements(below, most - count);
  }
  return count;
}

/** Elements of one level that are sorted by what they hold. Comparing two of them takes long. */
const maxSorted = 1000;

/**
 * Calls back for each member: those of a level first, then those below; each level by `compareElements`, a large one as
 * it is. The path is reused.
 */
export function forEachMember(set: FieldSet, visit: (path: readonly string[]) => void, path: string[] = []): void {
  const elements = Object.keys(set).filter((element) => element !== selfKey);
  if (elements.length <= maxSorted) elements.sort(compareElements);
  for (const element of elements) {
    if (!isMember(set[element]!)) continue;
    path.push(element);
    visit(path);
    path.pop();
  }
  for (const element of elements) {
    path.push(element);
    forEachMember(set[element]!, visit, path);
    path.pop();
  }
}

/** Adds a value at a path to a set that is being built, in place. The caller gives both away. */
export function insertAt(set: FieldSet, path: readonly string[], value: FieldSet): void {
  let level = set;
  const last = path.length - 1;
  for (let depth = 0; depth < last; depth += 1) {
    const element = path[depth]!;
    let next = setBelow(level, element);
    if (next === undefined) next = level[element] = {};
    // An empty set that is being built is `leaf`. To ask a large one whether it is empty takes long.
    else if (next === leaf) next = level[element] = { [selfKey]: leaf };
    level = next;
  }
  const present = setBelow(level, path[last]!);
  level[path[last]!] = present === undefined ? value : uniteValues(present, value);
}
