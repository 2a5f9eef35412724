import { isJsonObject, equalJson, type JsonObject, type JsonValue, type ListKeys } from '#pkg/apimachinery/index';

/** A property, or an element of a list by what identifies it there. */
export type Step = string | { identity: string; keys: readonly string[] };

/** A field that both sides changed, each to another value. Undefined: the field is absent. */
export interface Conflict {
  /** `spec.ports[name="http"].port`, for people. */
  path: string;
  steps: readonly Step[];
  base: JsonValue | undefined;
  mine: JsonValue | undefined;
  theirs: JsonValue | undefined;
}

export interface ObjectMerge {
  /** At a conflict it has their value. */
  merged: JsonObject;
  conflicts: Conflict[];
}

type Value = JsonValue | undefined;
interface Three {
  base: Value;
  mine: Value;
  theirs: Value;
}
/** Where a field is: from the root, and as `ListKeys` names it. */
interface Place {
  steps: readonly Step[];
  listed: string;
}

/**
 * What both sides made of `base`: every field has the value of the side that changed it. It does not matter which side
 * saved first. Lists with keys merge by element, sets by value; any other list is one field.
 */
export function mergeObjects(
  three: { base: JsonObject; mine: JsonObject; theirs: JsonObject },
  lists: ListKeys,
): ObjectMerge {
  const conflicts: Conflict[] = [];
  const merged = merge(three, { steps: [], listed: '' }, { lists, conflicts }) as JsonObject;
  return { merged, conflicts };
}

interface Run {
  lists: ListKeys;
  conflicts: Conflict[];
}

function merge(three: Three, place: Place, run: Run): Value {
  const { base, mine, theirs } = three;
  if (equalJson(mine, theirs) || equalJson(base, mine)) return theirs;
  if (equalJson(base, theirs)) return mine;
  if (isJsonObject(mine) && isJsonObject(theirs))
    return mergeProperties({ base: isJsonObject(base) ? base : {}, mine, theirs }, place, run);
  const keys = Object.hasOwn(run.lists, place.listed) ? run.lists[place.listed] : undefined;
  if (keys !== undefined && Array.isArray(mine) && Array.isArray(theirs)) {
    const parts = [Array.isArray(base) ? base : [], mine, theirs].map((list) => byIdentity(list, keys));
    if (parts.every((part) => part !== undefined)) {
      const [before, left, right] = parts as [Elements, Elements, Elements];
      return mergeElements({ base: before, mine: left, theirs: right }, { ...place, keys }, run);
    }
  }
  run.conflicts.push({ path: pathOf(place.steps), steps: place.steps, base, mine, theirs });
  return theirs;
}

function mergeProperties(
  { base, mine, theirs }: { base: JsonObject; mine: JsonObject; theirs: JsonObject },
  place: Place,
  run: Run,
): JsonObject {
  const merged: JsonObject = {};
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const three = { base: own(base, name), mine: own(mine, name), theirs: own(theirs, name) };
    const listed = place.listed === '' ? name : `${place.listed}.${name}`;
    const value = merge(three, { steps: [...place.steps, name], listed }, run);
    if (value !== undefined) setOwn(merged, name, value);
  }
  return merged;
}

/** The elements of a list by what identifies them. */
type Elements = ReadonlyMap<string, JsonValue>;

/** Undefined if an element has no identity, or two have the same. */
function byIdentity(list: readonly JsonValue[], keys: readonly string[]): Elements | undefined {
  const elements = new Map<string, JsonValue>();
  for (const element of list) {
    if (keys.length > 0 && !isJsonObject(element)) return undefined;
    const identity = identityOf(element, keys);
    if (elements.has(identity)) return undefined;
    elements.set(identity, element);
  }
  return elements;
}

/** In their order; what only one side has follows what preceded it there. */
function mergeElements(
  { base, mine, theirs }: { base: Elements; mine: Elements; theirs: Elements },
  place: Place & { keys: readonly string[] },
  run: Run,
): JsonValue[] {
  const merged: JsonValue[] = [];
  for (const identity of inOrder([...theirs.keys()], [...mine.keys()])) {
    const three = { base: base.get(identity), mine: mine.get(identity), theirs: theirs.get(identity) };
    const steps = [...place.steps, { identity, keys: place.keys }];
    const value = merge(three, { steps, listed: `${place.listed}[*]` }, run);
    if (value !== undefined) merged.push(value);
  }
  return merged;
}

/** All names: the first list, and each other name of the second behind the one that precedes it there. */
function inOrder(first: readonly string[], second: readonly string[]): string[] {
  const known = new Set(first);
  const following = new Map<string | undefined, string[]>();
  let previous: string | undefined;
  for (const name of second) {
    if (known.has(name)) previous = name;
    else following.set(previous, [...(following.get(previous) ?? []), name]);
  }
  return [...(following.get(undefined) ?? []), ...first.flatMap((name) => [name, ...(following.get(name) ?? [])])];
}

function identityOf(element: JsonValue, keys: readonly string[]): string {
  if (keys.length === 0 || !isJsonObject(element)) return JSON.stringify(element);
  return keys.map((key) => `${key}=${JSON.stringify(own(element, key) ?? null)}`).join(',');
}

function pathOf(steps: readonly Step[]): string {
  return steps
    .map((step, at) => (typeof step === 'string' ? `${at === 0 ? '' : '.'}${step}` : `[${step.identity}]`))
    .join('');
}

/** Sets the value at a conflict's place, or removes it. A place that is not there any more stays so. */
export function setAt(root: JsonObject, steps: readonly Step[], value: JsonValue | undefined): void {
  let at: Value = root;
  for (const step of steps.slice(0, -1))
    at = typeof step === 'string' ? (isJsonObject(at) ? own(at, step) : undefined) : elementOf(at, step);
  const last = steps.at(-1);
  if (typeof last === 'string' && isJsonObject(at)) {
    if (value === undefined) delete at[last];
    else setOwn(at, last, value);
  }
  if (typeof last === 'object' && Array.isArray(at)) {
    const index = at.findIndex((element) => identityOf(element, last.keys) === last.identity);
    if (index !== -1) at.splice(index, 1, ...(value === undefined ? [] : [value]));
    else if (value !== undefined) at.push(value);
  }
}

function elementOf(list: Value, { identity, keys }: Exclude<Step, string>): Value {
  return Array.isArray(list) ? list.find((element) => identityOf(element, keys) === identity) : undefined;
}

function own(object: JsonObject, name: string): Value {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Also a property called `__proto__`. */
function setOwn(object: JsonObject, name: string, value: JsonValue): void {
  Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
}
