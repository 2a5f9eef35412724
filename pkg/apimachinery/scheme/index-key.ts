import { isJsonObject, type ApiObject } from '../meta/object.ts';
import { formatPath, type PathSegment } from '../serializer/field-path.ts';
import { invalid, required, tooLong, tooMany, typeInvalid } from '../status/field-error.ts';
import type { StatusCause } from '../status/status.ts';
import { computedKeyOf } from './computed-key.ts';
import {
  isComputedIndex,
  maxIndexKeyBytes,
  maxIndexKeys,
  type ComputedKeys,
  type IndexDefinition,
  type IndexKey,
  type IndexValue,
} from './index-definition.ts';
import { parseIndexPath, type IndexPathSegment } from './index-path.ts';
import { indexTypeDescriptions, indexValueOf } from './index-value.ts';

/**
 * Limit of keys of one object in all its multi-value indexes: each is a separate parameter in the statement that writes
 * the object.
 */
export const maxIndexKeysInAll = 50_000;
/** Causes reported per index: enough for a reader, and a bound for a hostile list. */
const maxCauses = 10;

export interface ExtractedKeys {
  /** One for each requested index, in their order. */
  keys: IndexKey[];
  /** Empty if the object may be stored; else the causes of its 422. */
  causes: StatusCause[];
}

/**
 * The keys of an object in each index, by the indexes' paths, and causes why it must not be stored: a value of another
 * type, over 1 kB, an integer that is not exact, no key although `nullable` is false, over 10 000 keys in one index or
 * 50 000 in all. The keys are usable even with causes: an invalid value counts as absent. A multi-value index has a
 * set: no nulls, no duplicates. Index paths must be valid (`validateIndexes`); others yield no keys. Computed keys are
 * copied from `computed`, which must contain them.
 */
export function extractIndexKeys(
  indexes: readonly IndexDefinition[],
  object: ApiObject,
  computed?: ComputedKeys,
): ExtractedKeys {
  const keys: IndexKey[] = [];
  const causes: StatusCause[] = [];
  // Several indexes may have the same path to a list of a hundred thousand items, so its values are collected once.
  const known = new Map<string, Set<IndexValue>>();
  let count = 0;
  for (const index of indexes) {
    let key: IndexKey;
    if (isComputedIndex(index)) {
      key = computedKeyOf(index, computed);
    } else {
      const place = placeOf(index);
      const collector = new KeyCollector(index, maxCauses, known.get(place));
      key = collector.collect(object);
      causes.push(...collector.causes);
      // Each index reports its own causes.
      if (collector.causes.length === 0) known.set(place, collector.found);
    }
    count += Array.isArray(key) ? key.length : 0;
    const isTooMany = Array.isArray(key) && count > maxIndexKeysInAll;
    if (isTooMany && causes.length < maxCauses)
      causes.push({
        ...tooMany(index.path || index.name, count, maxIndexKeysInAll),
        message: `Too many: ${count}: the indexes of several values together must have at most ${maxIndexKeysInAll} values of one object`,
      });
    keys.push(isTooMany ? [] : key);
  }
  return { keys, causes };
}

/** The key of an object in one index; a value that the index cannot contain counts as absent. @throws KeyNotComputed */
export function extractIndexKey(index: IndexDefinition, object: ApiObject, computed?: ComputedKeys): IndexKey {
  return isComputedIndex(index) ? computedKeyOf(index, computed) : new KeyCollector(index, 0).collect(object);
}

const places = new WeakMap<IndexDefinition, string>();

/** Equal for indexes that have the same values of every object. */
function placeOf(index: IndexDefinition): string {
  let place = places.get(index);
  if (place === undefined) places.set(index, (place = JSON.stringify([index.path, index.type, index.default])));
  return place;
}

const parsedPaths = new WeakMap<IndexDefinition, readonly IndexPathSegment[]>();

function segmentsOf(index: IndexDefinition): readonly IndexPathSegment[] {
  const known = parsedPaths.get(index);
  if (known !== undefined) return known;
  const parsed = parseIndexPath(index.path);
  const segments = 'segments' in parsed ? parsed.segments : [];
  parsedPaths.set(index, segments);
  return segments;
}

/** Walks one object along one path. Its recursion is as deep as the path, never as the object. */
class KeyCollector {
  readonly causes: StatusCause[] = [];
  readonly #index: IndexDefinition;
  readonly #causesWanted: number;
  readonly #segments: readonly IndexPathSegment[];
  readonly found: Set<IndexValue>;
  readonly #isKnown: boolean;
  /** The current positions in the lists on the path. */
  readonly #positions: number[] = [];

  constructor(index: IndexDefinition, causesWanted: number, known?: Set<IndexValue>) {
    this.#index = index;
    this.#isKnown = known !== undefined;
    this.found = known ?? new Set();
    this.#causesWanted = causesWanted;
    this.#segments = segmentsOf(index);
  }

  collect(object: ApiObject): IndexKey {
    if (!this.#isKnown) this.#walk(object, 0);
    const index = this.#index;
    const { found } = this;
    if (found.size === 0 && !index.nullable && this.causes.length === 0) {
      this.#report(() => required(this.#field(), `index ${index.name} takes no object without a key`));
    }
    if (!index.multi) return found.values().next().value ?? null;
    if (found.size > maxIndexKeys) this.#report(() => tooMany(this.#field(), found.size, maxIndexKeys));
    return [...found].slice(0, maxIndexKeys);
  }

  #walk(value: unknown, depth: number): void {
    if (value === undefined || value === null) return;
    const segment = this.#segments[depth];
    if (segment === undefined) this.#take(value);
    else if ('everyItem' in segment) this.#walkItems(value, depth);
    else if (isJsonObject(value))
      this.#walk(Object.hasOwn(value, segment.property) ? value[segment.property] : this.#defaultAt(depth), depth + 1);
    else
      this.#report(() =>
        typeInvalid(this.#field(depth), typeName(value), `index ${this.#index.name}: must be an object`),
      );
  }

  /** A default replaces an absent field, but not its absent parents. */
  #defaultAt(depth: number): string | number | boolean | undefined {
    return depth === this.#segments.length - 1 ? this.#index.default : undefined;
  }

  #walkItems(value: unknown, depth: number): void {
    if (!Array.isArray(value)) {
      this.#report(() =>
        typeInvalid(this.#field(depth), typeName(value), `index ${this.#index.name}: must be an array`),
      );
      return;
    }
    for (const [position, item] of value.entries()) {
      this.#positions.push(position);
      this.#walk(item, depth + 1);
      this.#positions.pop();
    }
  }

  #take(value: unknown): void {
    const index = this.#index;
    const key = indexValueOf(index.type, value);
    if (key === undefined) {
      const cause = isExpectedType(index, value) ? invalid : typeInvalid;
      this.#report(() =>
        cause(
          this.#field(),
          isScalar(value) ? value : typeName(value),
          `index ${index.name}: must be ${indexTypeDescriptions[index.type]}`,
        ),
      );
    } else if (typeof key === 'string' && Buffer.byteLength(key) > maxIndexKeyBytes) {
      this.#report(() => {
        const cause = tooLong(this.#field(), maxIndexKeyBytes);
        return { ...cause, message: `${cause.message}: index ${index.name}` };
      });
    } else {
      this.found.add(key);
    }
  }

  /** A cause is created only if it will be reported: a hostile list has a million errors. */
  #report(cause: () => StatusCause): void {
    if (this.causes.length < this.#causesWanted) this.causes.push(cause());
  }

  /** The JSON path of the current value after `depth` steps; of the list itself outside of its items. */
  #field(depth = this.#segments.length): string {
    const path: PathSegment[] = [];
    let lists = 0;
    for (const segment of this.#segments.slice(0, depth)) {
      const step = 'property' in segment ? segment.property : this.#positions[lists++];
      if (step === undefined) break;
      path.push(step);
    }
    return formatPath(path);
  }
}

/** Whether the JSON type is right, though the value is not: 1.5 for an integer, `yesterday` for a date. */
function isExpectedType({ type }: IndexDefinition, value: unknown): boolean {
  switch (type) {
    case 'string':
    case 'date':
      return typeof value === 'string';
    case 'integer':
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint';
    default:
      return false;
  }
}

function isScalar(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function typeName(value: unknown): string {
  return Array.isArray(value) ? 'array' : typeof value;
}
