import { equalJson, runSync, type JsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { type FieldSet, insertAt, leaf, selfKey } from '../fieldpath/field-set.ts';
import { formatElements } from '../fieldpath/path-element.ts';
import { InvalidItem, itemElement } from './list-item.ts';
import type { ListType, MapType, TypeNode, ValueKind } from './type-node.ts';
import { TypedError } from './typed-error.ts';
import { asList, asMap, elementOf, valueKind, memberOf, nodeAt } from './typed-value.ts';
import { scalarProblem } from './validate.ts';
import { isEmpty } from '../fieldpath/is-empty.ts';

/** What makes one object another: fields that were added or have another value, and fields that went. */
export interface FieldChanges {
  changed: FieldSet;
  removed: FieldSet;
}

/** Members of a list or map that are visited at once. */
const maxAtOnce = 2000;

/**
 * Compares two objects of a type. A container that only one of them has is in the set itself, with all below it.
 * @throws TypedError if a value does not have its type.
 */
export function* comparingTyped(node: TypeNode, from: JsonValue, to: JsonValue): SlicedWork<FieldChanges> {
  const walk = new ComparisonWalk();
  walk.visit(node, from, to);
  yield* walk.visitLarge();
  return { changed: walk.changed, removed: walk.removed };
}

const noItems: readonly JsonValue[] = [];

/** Visits members in parts. */
function* inParts<T>(members: readonly T[], visit: (part: readonly T[]) => void): SlicedWork<void> {
  for (let start = 0; start < members.length; start += maxAtOnce) {
    visit(members.slice(start, start + maxAtOnce));
    yield;
  }
}

interface ComparedFields {
  keys: readonly string[];
  from: JsonObject | undefined;
  to: JsonObject | undefined;
}

class ComparisonWalk {
  readonly changed: FieldSet = {};
  readonly removed: FieldSet = {};
  readonly #path: string[] = [];
  /** Visits of large lists and maps, which come after all others, and may add more. */
  readonly #large: { path: readonly string[]; work: SlicedWork<void> }[] = [];

  *visitLarge(): SlicedWork<void> {
    for (const { path, work } of this.#large) {
      this.#path.splice(0, this.#path.length, ...path);
      yield* work;
    }
  }

  /** Visits members at once if they are few. */
  #visitAll<T>(members: readonly T[], visit: (part: readonly T[]) => void): void {
    if (members.length > maxAtOnce) this.#large.push({ path: [...this.#path], work: inParts(members, visit) });
    else visit(members);
  }

  /** Both objects have the value. */
  visit(node: TypeNode, from: JsonValue, to: JsonValue): void {
    if (from === to) return;
    const kind = valueKind(node, to);
    if (node.kind === 'any') {
      const kindBefore = valueKind(node, from);
      // Null has no kind of its own.
      if (kindBefore !== kind) this.#visitAs(kindBefore, node, from, to);
    } else {
      this.#requireKind(node, from);
      this.#requireKind(node, to);
    }
    this.#visitAs(kind, node, from, to);
  }

  #visitAs(kind: ValueKind, node: TypeNode, from: JsonValue, to: JsonValue): void {
    if (kind === 'map') this.#visitFields(node.map, from, to);
    else if (kind === 'list') this.#visitItems(node.list, from, to);
    else this.#visitLeaf(from, to);
  }

  #visitLeaf(from: JsonValue, to: JsonValue): void {
    if (!equalJson(from, to)) this.#insert(this.changed, leaf);
  }

  #visitFields(map: MapType, fromValue: JsonValue, toValue: JsonValue): void {
    const from = asMap(fromValue);
    const to = asMap(toValue);
    if (map.isAtomic || (isEmpty(from) && isEmpty(to))) return this.#visitLeaf(fromValue, toValue);
    this.#visitAll(Object.keys(from ?? {}), (keys) => this.#visitBefore(map, { keys, from: from!, to }));
    this.#visitAll(Object.keys(to ?? {}), (keys) => this.#visitAdded(map, { keys, from, to: to! }));
  }

  /** Fields of the first object. */
  #visitBefore(map: MapType, { keys, from, to }: ComparedFields & { from: JsonObject }): void {
    for (const key of keys) {
      const before = from[key]!;
      const after = memberOf(to, key);
      if (before === after) continue;
      const node = this.#nodeAt(map, key);
      this.#path.push(elementOf(map, key));
      if (after === undefined) this.#insert(this.removed, this.#wholeSet(node, before));
      else this.visit(node, before, after);
      this.#path.pop();
    }
  }

  /** Fields of the second object, as far as only it has them. */
  #visitAdded(map: MapType, { keys, from, to }: ComparedFields & { to: JsonObject }): void {
    for (const key of keys) {
      if (memberOf(from, key) !== undefined) continue;
      const node = this.#nodeAt(map, key);
      this.#path.push(elementOf(map, key));
      this.#insert(this.changed, this.#wholeSet(node, to[key]!));
      this.#path.pop();
    }
  }

  #visitItems(list: ListType, fromValue: JsonValue, toValue: JsonValue): void {
    const from = asList(fromValue) ?? [];
    const to = asList(toValue) ?? [];
    if (list.isAtomic || (from.length === 0 && to.length === 0)) return this.#visitLeaf(fromValue, toValue);
    if (equalJson(from, to)) return;
    const work = this.#items(list, from, to);
    if (from.length + to.length > maxAtOnce) this.#large.push({ path: [...this.#path], work });
    else runSync(work);
  }

  *#items(list: ListType, from: readonly JsonValue[], to: readonly JsonValue[]): SlicedWork<void> {
    const before = yield* this.#itemsByElement(list, from);
    const after = yield* this.#itemsByElement(list, to);
    let visited = 0;
    for (const [element, items] of before) {
      this.#visitItem(list, element, items, after.get(element) ?? noItems);
      if ((visited += 1) % maxAtOnce === 0) yield;
    }
    for (const [element, items] of after) {
      if (!before.has(element)) this.#visitItem(list, element, noItems, items);
      if ((visited += 1) % maxAtOnce === 0) yield;
    }
  }

  /** The items of one element: several, if the list has it more than once. They are compared as one leaf. */
  #visitItem(list: ListType, element: string, from: readonly JsonValue[], to: readonly JsonValue[]): void {
    this.#path.push(element);
    if (from.length < 2 && to.length < 2) {
      if (from.length === 0) this.#insert(this.changed, this.#wholeSet(list.item, to[0]!));
      else if (to.length === 0) this.#insert(this.removed, this.#wholeSet(list.item, from[0]!));
      else this.visit(list.item, from[0]!, to[0]!);
    } else if (from.length > 1 && to.length > 1) {
      if (!equalJson([...from], [...to])) this.#insert(this.changed, leaf);
    } else if (from.length > 1) {
      if (to.length > 0) this.#insert(this.changed, this.#wholeSet(list.item, to[0]!));
      this.#insert(this.removed, leaf);
    } else {
      if (from.length > 0) this.#insert(this.removed, this.#wholeSet(list.item, from[0]!));
      this.#insert(this.changed, leaf);
    }
    this.#path.pop();
  }

  *#itemsByElement(list: ListType, items: readonly JsonValue[]): SlicedWork<Map<string, JsonValue[]>> {
    const result = new Map<string, JsonValue[]>();
    for (const [index, item] of items.entries()) {
      if (index % maxAtOnce === maxAtOnce - 1) yield;
      const element = this.#itemElement(list, item, index);
      const present = result.get(element);
      if (present === undefined) result.set(element, [item]);
      else present.push(item);
    }
    return result;
  }

  /** The set of a value that one of the objects does not have: the value itself and all below it. */
  #wholeSet(node: TypeNode, value: JsonValue): FieldSet {
    if (node.kind !== 'any') this.#requireKind(node, value);
    const kind = valueKind(node, value);
    if (kind === 'map' && !node.map.isAtomic) return this.#wholeFields(node.map, asMap(value));
    if (kind === 'list' && !node.list.isAtomic) return this.#wholeItems(node.list, asList(value) ?? []);
    return leaf;
  }

  #wholeFields(map: MapType, value: JsonObject | undefined): FieldSet {
    if (value === undefined || isEmpty(value)) return leaf;
    const result: FieldSet = { [selfKey]: leaf };
    this.#visitAll(Object.keys(value), (keys) => this.#fillFields(result, map, { value, keys }));
    return result;
  }

  #fillFields(result: FieldSet, map: MapType, { value, keys }: { value: JsonObject; keys: readonly string[] }): void {
    for (const key of keys) {
      const node = this.#nodeAt(map, key);
      const element = elementOf(map, key);
      this.#path.push(element);
      result[element] = this.#wholeSet(node, value[key]!);
      this.#path.pop();
    }
  }

  #wholeItems(list: ListType, items: readonly JsonValue[]): FieldSet {
    if (items.length === 0) return leaf;
    const result: FieldSet = { [selfKey]: leaf };
    let index = 0;
    this.#visitAll(items, (part) => {
      for (const item of part) {
        const element = this.#itemElement(list, item, index);
        this.#path.push(element);
        result[element] = Object.hasOwn(result, element) ? leaf : this.#wholeSet(list.item, item);
        this.#path.pop();
        index += 1;
      }
    });
    return result;
  }

  #insert(set: FieldSet, value: FieldSet): void {
    if (this.#path.length > 0) insertAt(set, this.#path, value);
  }

  #nodeAt(map: MapType, key: string): TypeNode {
    const node = nodeAt(map, key);
    if (node === undefined) throw this.#error('field not declared in schema', elementOf(map, key));
    return node;
  }

  #itemElement(list: ListType, item: JsonValue, index: number): string {
    try {
      return itemElement(list, item);
    } catch (error) {
      throw error instanceof InvalidItem ? this.#error(`element ${index}: ${error.message}`) : error;
    }
  }

  #requireKind(node: TypeNode, value: JsonValue): void {
    if (value === null) return;
    if (node.kind === 'scalar') {
      const problem = scalarProblem(node.scalar, value);
      if (problem !== undefined) throw this.#error(problem);
    } else if (typeof value !== 'object' || Array.isArray(value) !== (node.kind === 'list'))
      throw this.#error(`expected ${node.kind}`);
  }

  #error(problem: string, ...more: string[]): TypedError {
    return new TypedError(`${formatElements([...this.#path, ...more])}: ${problem}`);
  }
}
