import { isJsonObject, type JsonValue } from '../meta/object.ts';
import { newRequestEntityTooLarge } from '../status/status-error.ts';
import { isPrototypeKey, maxJsonDepth, maxJsonValues, newTooDeep } from '../serializer/value-rules.ts';
import { pointerExcerpt, type JsonPointer } from './json-pointer.ts';

/** The reason why an operation does not fit the document; the message names the pointer. */
export class InapplicableOperation extends Error {
  constructor(pointer: JsonPointer, reason: string) {
    super(
      `${pointerExcerpt(pointer.map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''))}: ${reason}`,
    );
    this.name = 'InapplicableOperation';
  }
}

/** In bytes of JSON: the limit of bodies. */
const maxSize = 3 << 20;
/**
 * Characters: room for a document and a patch of that size, twice over. Copies of copies double the document each time.
 */
const maxCopied = 4 * maxSize;
/** Values and keys: the same factor on the allowed number; about fifty milliseconds. */
const maxCopiedValues = 4 * maxJsonValues;
/**
 * Values touched: fifty milliseconds at worst. A small patch of a large document can cause 10 000 times its size in
 * work.
 */
const maxWork = 200_000;
/** Elements that a splice shifts in the time that touching one value takes. */
const shiftedPerTouch = 16;

/**
 * A private copy of a document that operations change in place. Between operations it is never deeper than 100 levels,
 * so the recursions here are bounded; `work` bounds the time of all operations together.
 */
export class PatchTarget {
  #root: JsonValue;
  #work = 0;
  #copied = 0;
  #copiedValues = 0;

  constructor(document: JsonValue) {
    this.#root = this.#clone(document, 1);
  }

  add(path: JsonPointer, value: JsonValue): void {
    this.#insert(path, this.#clone(value, path.length + 1));
  }

  replace(path: JsonPointer, value: JsonValue): void {
    this.#find(path);
    const copy = this.#clone(value, path.length + 1);
    if (path.length === 0) this.#root = copy;
    else {
      const parent = this.#find(path.slice(0, -1));
      const key = path.at(-1)!;
      if (Array.isArray(parent)) parent[Number(key)] = copy;
      else if (isJsonObject(parent)) parent[key] = copy;
    }
  }

  remove(path: JsonPointer): JsonValue {
    const value = this.#find(path);
    if (path.length === 0) throw new InapplicableOperation(path, 'the whole document cannot be removed');
    const parent = this.#find(path.slice(0, -1));
    const key = path.at(-1)!;
    if (Array.isArray(parent)) {
      this.#chargeWork(parent.length / shiftedPerTouch);
      parent.splice(Number(key), 1);
    } else if (isJsonObject(parent)) delete parent[key];
    return value;
  }

  move(from: JsonPointer, path: JsonPointer): void {
    if (from.length < path.length && from.every((token, i) => token === path[i])) {
      throw new InapplicableOperation(from, 'a value cannot be moved into itself');
    }
    const value = this.#find(from);
    if (from.length === path.length && from.every((token, i) => token === path[i])) return;
    if (path.length > from.length) this.#checkHeight(value, path.length + 1);
    this.#insert(path, this.remove(from));
  }

  copy(from: JsonPointer, path: JsonPointer): void {
    this.#insert(path, this.#clone(this.#find(from), path.length + 1));
  }

  test(path: JsonPointer, value: JsonValue): void {
    if (!this.#equal(this.#find(path), value)) throw new InapplicableOperation(path, 'the value is not the tested one');
  }

  /** @throws StatusError 413 when the document has grown over 3 MiB. */
  finish(): JsonValue {
    // A value's JSON is at most six times its count, so most documents need not be measured.
    if (this.#copied * 6 > maxSize && Buffer.byteLength(JSON.stringify(this.#root)) > maxSize) throw newTooLarge();
    return this.#root;
  }

  #insert(path: JsonPointer, value: JsonValue): void {
    if (path.length === 0) {
      this.#root = value;
      return;
    }
    const parent = this.#find(path.slice(0, -1));
    const key = path.at(-1)!;
    if (Array.isArray(parent)) {
      const index = key === '-' ? parent.length : arrayIndex(key);
      if (index === undefined || index > parent.length)
        throw new InapplicableOperation(path, `the array has no place "${key.slice(0, 40)}"`);
      this.#chargeWork(parent.length / shiftedPerTouch);
      parent.splice(index, 0, value);
    } else if (isJsonObject(parent)) {
      if (isPrototypeKey(key)) throw new InapplicableOperation(path, 'the key is not allowed');
      parent[key] = value;
    } else throw new InapplicableOperation(path, 'the parent is neither an object nor an array');
  }

  #find(path: JsonPointer): JsonValue {
    let value = this.#root;
    this.#chargeWork(path.length);
    for (const token of path) {
      const index = Array.isArray(value) ? arrayIndex(token) : undefined;
      let member: JsonValue | undefined;
      if (Array.isArray(value)) member = index === undefined ? undefined : value[index];
      else if (isJsonObject(value) && Object.hasOwn(value, token)) member = value[token];
      if (member === undefined) throw new InapplicableOperation(path, 'no such value');
      value = member;
    }
    return value;
  }

  #clone(value: JsonValue, depth: number): JsonValue {
    this.#countCopied();
    if (this.#copied > maxCopied) throw newTooLarge();
    if (typeof value !== 'object' || value === null) {
      this.#copied += typeof value === 'string' ? value.length + 2 : 4;
      return value;
    }
    if (depth > maxJsonDepth) throw newTooDeep();
    this.#copied += 2;
    if (Array.isArray(value)) return value.map((item) => this.#clone(item, depth + 1));
    const copy: Record<string, JsonValue> = {};
    for (const key of Object.keys(value)) {
      if (isPrototypeKey(key)) continue;
      this.#countCopied();
      this.#copied += key.length + 4;
      copy[key] = this.#clone(value[key]!, depth + 1);
    }
    return copy;
  }

  #checkHeight(value: JsonValue, depth: number): void {
    // Costs twice as much as visiting a value: its members are listed first.
    this.#chargeWork(2);
    if (typeof value !== 'object' || value === null) return;
    if (depth > maxJsonDepth) throw newTooDeep();
    for (const member of Array.isArray(value) ? value : Object.values(value)) this.#checkHeight(member, depth + 1);
  }

  #equal(a: JsonValue, b: JsonValue): boolean {
    this.#chargeWork(1);
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
    if (Array.isArray(a) || Array.isArray(b)) {
      return (
        Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((item, i) => this.#equal(item, b[i]!))
      );
    }
    const keys = Object.keys(b);
    const actual = Object.keys(a).length;
    this.#chargeWork(actual);
    return keys.length === actual && keys.every((key) => Object.hasOwn(a, key) && this.#equal(a[key]!, b[key]!));
  }

  #countCopied(): void {
    this.#copiedValues += 1;
    if (this.#copiedValues > maxCopiedValues)
      throw newRequestEntityTooLarge(`the patch copies more than ${maxCopiedValues} values and keys`);
  }

  #chargeWork(work: number): void {
    this.#work += work;
    if (this.#work > maxWork) throw newRequestEntityTooLarge('the patch asks for too much work; send fewer operations');
  }
}

/** Digits without leading zeros; a number too large for any array is simply past its end. */
function arrayIndex(token: string): number | undefined {
  return /^(?:0|[1-9]\d{0,9})$/.test(token) ? Number(token) : undefined;
}

function newTooLarge(): Error {
  return newRequestEntityTooLarge(`the patched object would be larger than ${maxSize} bytes`);
}
