import {
  equalJson,
  fieldError,
  isJsonObject,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type SlicedWork,
  type StatusCause,
} from '#pkg/apimachinery/index';
import {
  childPath,
  childSchema,
  isEmbeddedResource,
  isResourceField,
  itemPath,
  propertySchema,
} from '../child-schema.ts';
import { combinationCause, enumCause, leafCause, typeCause } from './leaf-causes.ts';
import type { LeafValidators } from '../leaf/leaf-validators.ts';
import type { PatternMeter } from '../leaf/linear-pattern.ts';
import { duplicateValue, itemKeyOf, keysInList, repeatedKeys, type ItemKey } from './list-keys.ts';
import { objectMetaSchema } from '../object-meta-schema.ts';
import type { VisitMeter } from './visit-meter.ts';

const defaultMaxCauses = 100;

/** Values checked between two pauses. */
const valuesPerSlice = 64;

/** The meters of a walk; the walks that it starts share them. */
export interface WalkMeters {
  visits: VisitMeter;
  patterns: PatternMeter;
}

/** Trying a combination only needs the count of causes. */
const unnamedCause: StatusCause = { reason: 'FieldValueInvalid', message: '' };

interface Site {
  schema: JsonSchema;
  value: JsonValue;
  /** The old value at this place; undefined if there was none, or if it is unknown (items of an atomic list). */
  old: JsonValue | undefined;
  path: string;
}

/**
 * One validation of one value: walks schema and value together and collects at most 100 causes.
 *
 * Ratcheting, as in Kubernetes: causes found at or below a value equal to the old one at its place are dropped. Fields
 * are matched by name, items of `map` lists by their keys, items of other lists not at all (the list as a whole is). A
 * rule on a parent (required, counts, allOf, anyOf, oneOf, not) therefore passes only if the whole parent is unchanged;
 * inside a combination nothing is matched. Duplicates pass if the old list had them too.
 *
 * The work runs in slices, since a large object takes long; value and old value must not change meanwhile.
 */
export class ValidationWalk {
  readonly causes: StatusCause[] = [];
  readonly #leaves: LeafValidators;
  readonly #meters: WalkMeters;
  readonly #most: number;
  #values = 0;
  /** Whether the walk is inside a combination. Only then visits are counted: otherwise each value has just one. */
  #combined: boolean;

  constructor(
    leaves: LeafValidators,
    { meters, maxCauses = defaultMaxCauses }: { meters: WalkMeters; maxCauses?: number },
  ) {
    this.#leaves = leaves;
    this.#meters = meters;
    this.#most = maxCauses;
    // A walk with one wanted cause tries a part of a combination.
    this.#combined = maxCauses === 1;
  }

  /** Visits a whole resource: only declared parts of its apiVersion, kind and metadata are checked. */
  visitRoot(schema: JsonSchema, object: JsonObject, old: JsonObject | undefined): SlicedWork<void> {
    return this.#visit({ schema, value: object, old, path: '' }, true);
  }

  visit(site: Site): SlicedWork<void> {
    return this.#visit(site, false);
  }

  /** Also true above the limit of visits: the caller of the walk then refuses the whole object. */
  get #isStopped(): boolean {
    return (
      this.causes.length >= this.#most || this.#meters.visits.exhausted || this.#meters.patterns.refusal !== undefined
    );
  }

  /** A walk that only tries stops at the first failure and needs no message. */
  #add(makeCause: () => StatusCause): void {
    if (!this.#isStopped) this.causes.push(this.#most === 1 ? unnamedCause : makeCause());
  }

  *#visit(site: Site, root: boolean): SlicedWork<void> {
    if (this.#isStopped) return;
    if (++this.#values % valuesPerSlice === 0 || this.#meters.patterns.takePause()) yield;
    if (this.#combined) this.#meters.visits.count(site.value);
    // An unchanged scalar needs no check: for example, a long text need not be matched again.
    if (site.value === site.old && typeof site.value !== 'object') return;
    const before = this.causes.length;
    yield* this.#check(site, root);
    if (this.causes.length === before || site.old === undefined) return;
    // Compares all of a container's content, again on every level.
    if (typeof site.value === 'object') yield;
    if (equalJson(site.value, site.old)) this.causes.length = before;
  }

  *#check(site: Site, root: boolean): SlicedWork<void> {
    const { schema, value } = site;
    if (value === null) {
      this.#checkNull(site);
      return;
    }
    // Compares the whole container with each of them, again on every level.
    if (schema.enum && typeof value === 'object') yield;
    if (!this.#checkLeaf(site)) return;
    if (Array.isArray(value)) yield* this.#checkItems(site, value);
    else if (isJsonObject(value)) yield* this.#checkFields(site, value, root);
    if (schema.allOf || schema.anyOf || schema.oneOf || schema.not) yield* this.#checkCombinations(site);
  }

  #checkNull({ schema, value, path }: Site): void {
    const typed = schema.type || schema['x-kubernetes-int-or-string'];
    if (typed && !schema.nullable) this.#add(() => typeCause(schema, value, path));
    else if (schema.enum && !schema.enum.includes(null)) this.#add(() => enumCause(schema, value, path));
  }

  /** False if the value has the wrong type: then no other rule applies. */
  #checkLeaf({ schema, value, path }: Site): boolean {
    if (this.#leaves.passes(schema, value, this.#meters.patterns)) return true;
    if (this.#most === 1) {
      this.#add(() => unnamedCause);
      return false;
    }
    const failures = this.#leaves.failures(schema, value, this.#meters.patterns);
    const mistyped = failures.find((failure) => failure.keyword === 'type');
    for (const failure of mistyped ? [mistyped] : failures) this.#add(() => leafCause(failure, schema, value, path));
    return mistyped === undefined;
  }

  *#checkFields({ schema, old, path }: Site, object: JsonObject, root: boolean): SlicedWork<void> {
    const embedded = !root && isEmbeddedResource(schema);
    if (embedded) yield* this.#checkEmbedded(object, old, path);
    const before = isJsonObject(old) ? old : {};
    for (const key of Object.keys(object)) {
      if (this.#isStopped) return;
      const value = object[key]!;
      const child = (root || embedded) && isResourceField(key) ? propertySchema(schema, key) : childSchema(schema, key);
      if (child === undefined || child === 'any') continue;
      yield* this.visit({ schema: child, value, old: ownValue(before, key), path: childPath(path, key) });
    }
  }

  *#checkEmbedded(object: JsonObject, old: JsonValue | undefined, path: string): SlicedWork<void> {
    for (const key of ['apiVersion', 'kind']) {
      const value = ownValue(object, key);
      const at = childPath(path, key);
      if (value === undefined) this.#add(() => fieldError.required(at));
      else if (value === '') this.#add(() => fieldError.invalid(at, value, 'must not be empty'));
      else
        yield* this.visit({
          schema: key === 'kind' ? kindSchema : apiVersionSchema,
          value,
          old: isJsonObject(old) ? ownValue(old, key) : undefined,
          path: at,
        });
    }
    const metadata = ownValue(object, 'metadata');
    if (metadata === undefined) return;
    const before = isJsonObject(old) ? ownValue(old, 'metadata') : undefined;
    yield* this.visit({ schema: objectMetaSchema, value: metadata, old: before, path: childPath(path, 'metadata') });
  }

  *#checkItems({ schema, old, path }: Site, list: JsonValue[]): SlicedWork<void> {
    const before = Array.isArray(old) ? old : [];
    const keyOf = itemKeyOf(schema);
    const keys = keyOf === undefined ? [] : yield* keysInList(list, keyOf);
    if (keyOf !== undefined) yield* this.#checkDuplicates(schema, list, { keys, keyOf, before, path });
    const items = schema.items;
    if (!items) return;
    const isMap = keyOf !== undefined && schema['x-kubernetes-list-type'] === 'map';
    const oldKeys = isMap ? yield* keysInList(before, keyOf) : [];
    const byKey = new Map(oldKeys.map((key, index) => [key, before[index]!]));
    for (const [index, value] of list.entries()) {
      if (this.#isStopped) return;
      yield* this.visit({
        schema: items,
        value,
        old: isMap ? byKey.get(keys[index]!) : undefined,
        path: itemPath(path, index),
      });
    }
  }

  *#checkDuplicates(
    schema: JsonSchema,
    list: JsonValue[],
    { keys, keyOf, before, path }: { keys: string[]; keyOf: ItemKey; before: JsonValue[]; path: string },
  ): SlicedWork<void> {
    if (repeatedKeys(keys).size === 0) return;
    const tolerated = repeatedKeys(yield* keysInList(before, keyOf));
    const counts = new Map<string, number>();
    for (const [index, key] of keys.entries()) {
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      // Named once, however often it is there.
      if (count === 2 && !tolerated.has(key))
        this.#add(() => fieldError.duplicate(itemPath(path, index), duplicateValue(list[index]!, schema)));
    }
  }

  *#checkCombinations({ schema, value, path }: Site): SlicedWork<void> {
    const around = this.#combined;
    this.#combined = true;
    for (const part of schema.allOf ?? []) yield* this.visit({ schema: part, value, old: undefined, path });
    this.#combined = around;
    if (this.#isStopped) return;
    if (schema.anyOf && (yield* this.#passing(schema.anyOf, value, 1)) === 0) {
      this.#add(() => combinationCause(path, 'validate at least one schema (anyOf)'));
    }
    if (schema.oneOf) {
      const count = yield* this.#passing(schema.oneOf, value);
      const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`;
      if (count !== 1) this.#add(() => combinationCause(path, `validate one and only one schema (oneOf). ${found}`));
    }
    if (schema.not && (yield* this.#passing([schema.not], value)) > 0)
      this.#add(() => combinationCause(path, 'not validate the schema (not)'));
  }

  /** The number of schemas that accept the value; stops at `enough`. */
  *#passing(schemas: readonly JsonSchema[], value: JsonValue, enough = Infinity): SlicedWork<number> {
    let count = 0;
    for (const schema of schemas) {
      const attempt = new ValidationWalk(this.#leaves, { meters: this.#meters, maxCauses: 1 });
      // Each attempt counts its own values for pauses, and may be short.
      if (++this.#values % valuesPerSlice === 0) yield;
      yield* attempt.visit({ schema, value, old: undefined, path: '' });
      if (attempt.causes.length === 0) count += 1;
      if (count >= enough) break;
    }
    return count;
  }
}

const apiVersionSchema: JsonSchema = { type: 'string', pattern: '^([^/]+/)?[^/]+$' };
const kindSchema: JsonSchema = { type: 'string', maxLength: 63, pattern: '^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$' };

function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
