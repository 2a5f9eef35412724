import { isAlias, isMap, isScalar, isSeq, type Document, type ParsedNode, type Scalar, type YAMLMap } from 'yaml';

import type { JsonObject, JsonValue } from '../meta/object.ts';
import { newBadRequest, type StatusError } from '../status/status-error.ts';
import type { StatusCause } from '../status/status.ts';
import { maxFindings, type DecodeResult } from './decode-result.ts';
import { formatPath, type PathSegment } from './field-path.ts';
import {
  inexactNumberCause,
  isInexactNumber,
  isPrototypeKey,
  maxJsonDepth,
  maxJsonValues,
  newBadText,
  newInexactNumbers,
  newTooDeep,
  newTooManyValues,
  textViolation,
} from './value-rules.ts';

/** Limit of the expanded document in characters; a body without aliases never reaches it. */
const maxExpandedSize = 3 << 20;
const coreTag = /^tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)$/;

/** Converts one composed document to JSON, by the rules of `decodeYaml`. */
export function readYamlDocument(document: Document.Parsed): DecodeResult {
  const [error] = document.errors;
  if (error !== undefined)
    throw newBadRequest(`the body of the request is not valid YAML: ${error.message.slice(0, 90)}`);
  return new YamlReader().read(document.contents);
}

export function isEmptyDocument(document: Document.Parsed): boolean {
  const { contents } = document;
  return (
    document.errors.length === 0 &&
    (contents === null || (isScalar(contents) && contents.value === null && contents.source === ''))
  );
}

class YamlReader {
  readonly #duplicates: string[] = [];
  readonly #dropped: string[] = [];
  readonly #inexact: StatusCause[] = [];
  readonly #path: PathSegment[] = [];
  /** Finished values by anchor; undefined while the anchored node itself is being read. */
  readonly #anchors = new Map<string, JsonValue | undefined>();
  #size = 0;
  #values = 0;

  read(contents: ParsedNode | null): DecodeResult {
    const value = this.#readNode(contents, 1);
    if (this.#inexact.length > 0) throw newInexactNumbers(this.#inexact);
    return { value, duplicates: this.#duplicates, dropped: this.#dropped };
  }

  #readNode(node: unknown, depth: number): JsonValue {
    if (isAlias(node)) return this.#readAlias(node.source, depth);
    if (node === null || node === undefined) return null;
    if (!isMap(node) && !isSeq(node) && !isScalar(node)) throw this.#refuse('this kind of node is not supported');
    if (node.tag !== undefined && !coreTag.test(node.tag)) throw this.#refuse('tags are not supported');
    const { anchor } = node;
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    const value = this.#readContent(node, depth);
    if (anchor !== undefined) this.#anchors.set(anchor, value);
    return value;
  }

  #readContent(node: unknown, depth: number): JsonValue {
    if (isScalar(node)) return this.#readScalar(node);
    if (depth > maxJsonDepth) throw newTooDeep();
    this.#grow(2);
    if (isMap(node)) return this.#readMap(node, depth);
    return isSeq(node)
      ? node.items.map((item, index) => this.#within(index, () => this.#readNode(item, depth + 1)))
      : null;
  }

  #readMap(map: YAMLMap, depth: number): JsonObject {
    const object: JsonObject = {};
    for (const { key: keyNode, value } of map.items) {
      const key = this.#readKey(keyNode, depth);
      this.#within(key, () => {
        const member = this.#readNode(value, depth + 1);
        if (isPrototypeKey(key)) {
          this.#report(this.#dropped);
          return;
        }
        if (Object.hasOwn(object, key)) this.#report(this.#duplicates);
        object[key] = member;
      });
    }
    return object;
  }

  #readKey(node: unknown, depth: number): string {
    const key = this.#readNode(node, depth);
    if (key === null || typeof key === 'object') throw this.#refuse('a key must be a string, a number or a boolean');
    return String(key);
  }

  #readScalar(scalar: Scalar): JsonValue {
    const { value } = scalar;
    if (typeof value === 'string') return this.#readText(value);
    this.#grow(4);
    if (typeof value === 'number') return this.#readNumber(value, scalar.source ?? String(value));
    if (typeof value === 'boolean' || value === null) return value;
    throw this.#refuse('this kind of scalar is not supported');
  }

  #readText(text: string): string {
    const violation = textViolation(text);
    if (violation !== undefined) throw newBadText(this.#path, violation);
    this.#grow(text.length + 2);
    return text;
  }

  #readNumber(value: number, literal: string): number {
    if (Number.isNaN(value) || isInexactNumber(value, literal)) {
      if (this.#inexact.length < maxFindings) this.#inexact.push(inexactNumberCause(this.#path, literal));
    }
    return Object.is(value, -0) ? 0 : value;
  }

  #readAlias(anchor: string, depth: number): JsonValue {
    const value = this.#anchors.get(anchor);
    if (value === undefined) throw this.#refuse('an alias must name an anchor before it that does not hold the alias');
    return this.#copy(value, depth);
  }

  /** Each use of an alias is a copy: a later change at one place must not affect another. */
  #copy(value: JsonValue, depth: number): JsonValue {
    if (typeof value !== 'object' || value === null) {
      this.#grow(typeof value === 'string' ? value.length + 2 : 4);
      return value;
    }
    if (depth > maxJsonDepth) throw newTooDeep();
    this.#grow(2);
    if (Array.isArray(value)) return value.map((item) => this.#copy(item, depth + 1));
    const object: JsonObject = {};
    for (const [key, member] of Object.entries(value)) {
      this.#grow(key.length + 2);
      object[key] = this.#copy(member, depth + 1);
    }
    return object;
  }

  #within<T>(segment: PathSegment, read: () => T): T {
    this.#path.push(segment);
    const result = read();
    this.#path.pop();
    return result;
  }

  /** Called once for every value and every key. */
  #grow(size: number): void {
    this.#size += size;
    this.#values += 1;
    if (this.#values > maxJsonValues) throw newTooManyValues();
    if (this.#size > maxExpandedSize)
      throw newBadRequest(`the YAML document expands to more than ${maxExpandedSize} characters`);
  }

  #report(list: string[]): void {
    const path = list.length < maxFindings ? formatPath(this.#path) : undefined;
    if (path !== undefined && !list.includes(path)) list.push(path);
  }

  #refuse(reason: string): StatusError {
    const path = formatPath(this.#path);
    return newBadRequest(`the body of the request is not supported YAML: ${path === '' ? '' : `${path}: `}${reason}`);
  }
}
