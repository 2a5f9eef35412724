import { compareElements } from './path-element.ts';
import { isEmpty } from './is-empty.ts';

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

export function unionSets(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a;
  let result = a;
  for (const element in b) {
    const left = setBelow(a, element);
    const right = b[element]!;
    const united = left === undefined ? right : uniteValues(left, right);
    if (united === left) continue;
    if (result === a) result = copySet(a);
    result[element] = united;
  }
  return result;
}

/** The values of one element that is in both sets. */
export function uniteValues(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isEmpty(a)) return isEmpty(b) ? a : withSelf(b);
  return isEmpty(b) ? withSelf(a) : unionSets(a, b);
}

/** The value of an element that has others below it and is a member itself. */
export function withSelf(value: FieldSet): FieldSet {
  if (selfKey in value) return value;
  const result: FieldSet = { [selfKey]: leaf };
  for (const element in value) result[element] = value[element]!;
  return result;
}

/** A copy that may be changed. Of a large set it is faster than a spread. */
export function copySet(set: FieldSet): FieldSet {
  const copy: FieldSet = {};
  for (const element in set) copy[element] = set[element]!;
  return copy;
}

/** Which fields of an element go, if the element itself is a member of the set that is removed. */
type Removal = 'member' | 'below';

/** The members of `a` that are not members of `b`. What is below a member of `b` stays. */
export function differenceOfSets(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, 'member');
}

/** `a` without the members of `b` and without all that is below them. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return subtract(a, b, 'below');
}

function subtract(a: FieldSet, b: FieldSet, removal: Removal): FieldSet {
  return hasCommonElement(a, b) ? (subtractBelow(a, b, removal, false) ?? {}) : a;
}

function hasCommonElement(a: FieldSet, b: FieldSet): boolean {
  for (const element in b) if (element !== selfKey && Object.hasOwn(a, element)) return true;
  return false;
}

/** The value of an element that is in both sets; undefined if nothing is left. */
function subtractValue(a: FieldSet, b: FieldSet, removal: Removal): FieldSet | undefined {
  const isRemoved = isMember(b);
  if (isRemoved && removal === 'below') return undefined;
  if (isEmpty(a)) return isRemoved ? undefined : a;
  const losesSelf = isRemoved && selfKey in a;
  if (!losesSelf && !hasCommonElement(a, b)) return a;
  const hasSelf = selfKey in a && !isRemoved;
  const rest = subtractBelow(a, b, removal, hasSelf);
  if (rest === undefined) return hasSelf ? leaf : undefined;
  return rest;
}

/** A new set, because deleting from one is slow; `a` itself if it is equal, undefined if nothing is below. */
function subtractBelow(a: FieldSet, b: FieldSet, removal: Removal, hasSelf: boolean): FieldSet | undefined {
  const result: FieldSet = hasSelf ? { [selfKey]: leaf } : {};
  let isSame = hasSelf === selfKey in a;
  let isNothingLeft = true;
  for (const element in a) {
    if (element === selfKey) continue;
    const left = a[element]!;
    const right = setBelow(b, element);
    const rest = right === undefined ? left : subtractValue(left, right, removal);
    if (rest !== left) isSame = false;
    if (rest === undefined) continue;
    result[element] = rest;
    isNothingLeft = false;
  }
  if (isSame) return a;
  return isNothingLeft ? undefined : result;
}

/** The members that both sets have. */
export function intersectSets(a: FieldSet, b: FieldSet): FieldSet {
  const result: FieldSet = {};
  for (const element in b) {
    const left = element === selfKey ? undefined : setBelow(a, element);
    if (left === undefined) continue;
    const right = b[element]!;
    const below = intersectSets(left, right);
    if (isMember(left) && isMember(right)) result[element] = isEmpty(below) ? leaf : withSelf(below);
    else if (!isEmpty(below)) result[element] = below;
  }
  return result;
}

/** Calls back for each member: those of a level first, then those below. The path is reused. */
export function forEachMember(set: FieldSet, visit: (path: readonly string[]) => void, path: string[] = []): void {
  const elements = Object.keys(set).filter((element) => element !== selfKey);
  elements.sort(compareElements);
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
