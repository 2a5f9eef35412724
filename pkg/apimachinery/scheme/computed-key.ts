import { createHash } from 'node:crypto';
import { invalid, required, tooLong, tooMany, typeInvalid } from '../status/field-error.ts';
import type { StatusCause } from '../status/status.ts';
import {
  maxIndexKeyBytes,
  maxIndexKeys,
  type ComputedIndex,
  type ComputedKey,
  type ComputedKeys,
  type IndexDefinition,
  type IndexKey,
  type IndexType,
  type IndexValue,
} from './index-definition.ts';
import { indexTypeDescriptions, indexValueOf } from './index-value.ts';

/** The result of a function for one object: values (none or one, unless the index is multi-value), or an error text. */
export type ComputedResult = { values: readonly unknown[] } | { fault: string };

/** The keys of an index were not computed for an object: the index was added or changed later. */
export class KeyNotComputed extends Error {
  constructor(index: Pick<IndexDefinition, 'name'>) {
    super(`the keys of index ${index.name} were not computed for this object`);
    this.name = 'KeyNotComputed';
  }
}

/** The hash of the last script: scripts are long and have many functions. */
let known: { script: string; hash: string } | undefined;

export function computedKey(
  name: string,
  script: string,
  { type, multi }: { type: IndexType; multi: boolean },
): ComputedKey {
  if (known?.script !== script) known = { script, hash: hashOf(script) };
  const { hash } = known;
  return { function: name, script: hash, id: hashOf(JSON.stringify([hash, name, type, multi])).slice(0, 22) };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** @throws KeyNotComputed */
export function computedKeyOf(index: ComputedIndex, keys: ComputedKeys | undefined): IndexKey {
  const { id } = index.computed;
  if (keys === undefined || !Object.hasOwn(keys, id)) throw new KeyNotComputed(index);
  return keys[id]!;
}

/**
 * Converts a function's result to a key, by the rules of paths, with a cause if the object must not be stored. The key
 * is usable even with a cause.
 */
export function keyFromResult(index: ComputedIndex, result: ComputedResult): { key: IndexKey; cause?: StatusCause } {
  const none = index.multi ? [] : null;
  if ('fault' in result)
    return {
      key: none,
      cause: {
        reason: 'FieldValueInvalid',
        field: index.name,
        message: `Invalid value: index ${index.name}: ${result.fault}`,
      },
    };
  const found = new Set<IndexValue>();
  let cause: StatusCause | undefined;
  for (const value of result.values) {
    const taken = takeValue(index, value);
    if (typeof taken === 'object') cause ??= taken;
    else found.add(taken);
  }
  if (found.size > maxIndexKeys) cause ??= tooMany(index.name, found.size, maxIndexKeys);
  if (found.size === 0 && !index.nullable)
    cause ??= required(index.name, `index ${index.name} takes no object without a key`);
  const key = index.multi ? [...found].slice(0, maxIndexKeys) : (found.values().next().value ?? null);
  return cause === undefined ? { key } : { key, cause };
}

function takeValue({ name, type }: IndexDefinition, value: unknown): IndexValue | StatusCause {
  const key = indexValueOf(type, value);
  if (key === undefined) {
    const wanted = `index ${name}: must be ${indexTypeDescriptions[type]}`;
    return typeof value === (type === 'integer' ? 'number' : type === 'date' ? 'string' : type)
      ? invalid(name, shown(value), wanted)
      : typeInvalid(name, shown(value), wanted);
  }
  if (typeof key !== 'string' || Buffer.byteLength(key) <= maxIndexKeyBytes) return key;
  const cause = tooLong(name, maxIndexKeyBytes);
  return { ...cause, message: `${cause.message}: index ${name}` };
}

function shown(value: unknown): string | number | boolean {
  if (typeof value === 'string') return value.slice(0, 200);
  return typeof value === 'number' || typeof value === 'boolean' ? value : typeof value;
}
