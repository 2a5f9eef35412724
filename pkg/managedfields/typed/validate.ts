import {
  isJsonObject,
  isPrototypeKey,
  type JsonObject,
  type JsonValue,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import { formatNumber } from '../fieldpath/element-value.ts';
import { formatElements } from '../fieldpath/path-element.ts';
import { isSliceEnd } from '../fieldpath/slice-end.ts';
import { InvalidItem, itemElement } from './list-item.ts';
import type { ListType, MapType, ScalarType, TypeNode } from './type-node.ts';
import { elementOf, valueKind, nodeAt } from './typed-value.ts';

/** Deeper than any object: nobody stores more than 100 levels. */
const maxDepth = 256;
const maxErrors = 100;

export interface ValidateOptions {
  /** Sets and lists with keys may have an item twice. Default false. */
  allowDuplicates?: boolean;
}

/** What keeps a value from having the type: a path and a reason each, `.spec.x: field not declared in schema`. */
export function* validatingTyped(
  node: TypeNode,
  value: JsonValue,
  options: ValidateOptions = {},
): SlicedWork<string[]> {
  const walk = new ValidationWalk(options.allowDuplicates === true);
  yield* walk.visit(node, value);
  return walk.errors;
}

class ValidationWalk {
  readonly errors: string[] = [];
  readonly #path: string[] = [];
  readonly #allowDuplicates: boolean;

  constructor(allowDuplicates: boolean) {
    this.#allowDuplicates = allowDuplicates;
  }

  *visit(node: TypeNode, value: JsonValue): SlicedWork<void> {
    if (value === null || this.errors.length >= maxErrors) return;
    const kind = valueKind(node, value);
    if (this.#path.length > maxDepth) this.#report(`nested deeper than ${maxDepth} levels`);
    else if (kind === 'scalar') this.#visitScalar(node.scalar, value);
    else if (kind === 'list' && Array.isArray(value)) yield* this.#visitItems(node.list, value);
    else if (kind === 'map' && isJsonObject(value)) yield* this.#visitFields(node.map, value);
    else this.#report(`expected ${kind}, got &{${describeValue(value)}}`);
  }

  #visitScalar(type: ScalarType, value: JsonValue): void {
    const problem = value === null ? undefined : scalarProblem(type, value);
    if (problem !== undefined) this.#report(problem);
  }

  *#visitItems(list: ListType, items: readonly JsonValue[]): SlicedWork<void> {
    const seen = new Set<string>();
    for (const [index, item] of items.entries()) {
      if (isSliceEnd()) yield;
      const element = list.isAtomic ? `i:${index}` : this.#elementOf(list, item, index);
      if (element === undefined) return;
      if (seen.has(element) && !this.#allowDuplicates)
        this.#report(`duplicate entries for key ${formatElements([element], formatNumber)}`);
      if (!list.isAtomic) seen.add(element);
      this.#path.push(element);
      if (valueKind(list.item, item) === 'scalar') this.#visitScalar(list.item.scalar, item);
      else yield* this.visit(list.item, item);
      this.#path.pop();
    }
  }

  #elementOf(list: ListType, item: JsonValue, index: number): string | undefined {
    try {
      return itemElement(list, item);
    } catch (error) {
      if (!(error instanceof InvalidItem)) throw error;
      this.#report(`element ${index}: ${error.message}`);
      return undefined;
    }
  }

  *#visitFields(map: MapType, value: JsonObject): SlicedWork<void> {
    for (const key of Object.keys(value)) {
      if (isSliceEnd()) yield;
      const node = isPrototypeKey(key) ? undefined : nodeAt(map, key);
      this.#path.push(elementOf(map, key));
      if (node === undefined) this.#report('field not declared in schema');
      else if (valueKind(node, value[key]!) === 'scalar') this.#visitScalar(node.scalar, value[key]!);
      else yield* this.visit(node, value[key]!);
      this.#path.pop();
    }
  }

  #report(problem: string): void {
    if (this.errors.length >= maxErrors) return;
    const path = formatElements(this.#path, formatNumber);
    this.errors.push(path === '' ? problem : `${path}: ${problem}`);
  }
}

/** Why a value that is not null cannot be a scalar of this type. */
export function scalarProblem(type: ScalarType, value: JsonValue): string | undefined {
  switch (type) {
    case 'numeric':
      return typeof value === 'number' ? undefined : `expected numeric (int or float), got ${goType(value)}`;
    case 'string':
      return typeof value === 'string'
        ? undefined
        : `expected string, got &value.valueUnstructured{Value:${describeValue(value)}}`;
    case 'boolean':
      return typeof value === 'boolean' ? undefined : `expected boolean, got &{${describeValue(value)}}`;
    default:
      return typeof value === 'object' ? `expected any scalar, got &{${describeValue(value)}}` : undefined;
  }
}

function goType(value: JsonValue): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'object' ? 'map[string]interface {}' : typeof value;
}

const maxShown = 100;

function describeValue(value: JsonValue): string {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
}
