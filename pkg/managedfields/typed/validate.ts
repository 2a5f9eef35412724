import { isJsonObject, isPrototypeKey, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { formatNumber } from '../fieldpath/element-value.ts';
import { formatElements } from '../fieldpath/path-element.ts';
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
export function validateTyped(node: TypeNode, value: JsonValue, options: ValidateOptions = {}): string[] {
  const walk = new ValidationWalk(options.allowDuplicates === true);
  walk.visit(node, value);
  return walk.errors;
}

class ValidationWalk {
  readonly errors: string[] = [];
  readonly #path: string[] = [];
  readonly #allowDuplicates: boolean;

  constructor(allowDuplicates: boolean) {
    this.#allowDuplicates = allowDuplicates;
  }

  visit(node: TypeNode, value: JsonValue): void {
    if (value === null || this.errors.length >= maxErrors) return;
    if (this.#path.length > maxDepth) return this.#report(`nested deeper than ${maxDepth} levels`);
    switch (valueKind(node, value)) {
      case 'scalar': {
        const problem = scalarProblem(node.scalar, value);
        if (problem !== undefined) this.#report(problem);
        return;
      }
      case 'list':
        if (Array.isArray(value)) this.#visitItems(node.list, value);
        else this.#report(`expected list, got &{${describeValue(value)}}`);
        return;
      case 'map':
        if (isJsonObject(value)) this.#visitFields(node.map, value);
        else this.#report(`expected map, got &{${describeValue(value)}}`);
    }
  }

  #visitItems(list: ListType, items: readonly JsonValue[]): void {
    const seen = new Set<string>();
    for (const [index, item] of items.entries()) {
      let element = `i:${index}`;
      if (!list.isAtomic) {
        try {
          element = itemElement(list, item);
        } catch (error) {
          if (!(error instanceof InvalidItem)) throw error;
          return this.#report(`element ${index}: ${error.message}`);
        }
        if (seen.has(element) && !this.#allowDuplicates)
          this.#report(`duplicate entries for key ${formatElements([element], formatNumber)}`);
        seen.add(element);
      }
      this.#path.push(element);
      this.visit(list.item, item);
      this.#path.pop();
    }
  }

  #visitFields(map: MapType, value: JsonObject): void {
    for (const key of Object.keys(value)) {
      const node = isPrototypeKey(key) ? undefined : nodeAt(map, key);
      this.#path.push(elementOf(map, key));
      if (node === undefined) this.#report('field not declared in schema');
      else this.visit(node, value[key]!);
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
