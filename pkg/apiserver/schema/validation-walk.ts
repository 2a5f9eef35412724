import { fieldError, isJsonObject, type JsonObject, type JsonSchema, type JsonValue, type StatusCause } from '#pkg/apimachinery/index';
import { childSchema, isEmbeddedResource, isResourceField, propertySchema } from './child-schema.ts';
import { childPath, itemPath } from './field-path.ts';
import { equalJson } from './json-value.ts';
import { combinationCause, enumCause, leafCause, typeCause } from './leaf-causes.ts';
import type { LeafValidators } from './leaf-validators.ts';
import { duplicateKeys, duplicateValue, itemKeyOf } from './list-keys.ts';
import { objectMetaSchema } from './object-meta-schema.ts';
import type { VisitMeter } from './visit-meter.ts';

const MOST_CAUSES = 100;

/** Only the count matters where a combination is tried. */
const UNNAMED: StatusCause = { reason: 'FieldValueInvalid', message: '' };

interface Site {
  schema: JsonSchema;
  value: JsonValue;
  /** What stood here before; undefined if nothing did, or if it cannot be told (items of an atomic list). */
  old: JsonValue | undefined;
  path: string;
}

/**
 * One validation of one value: goes down schema and value together and gathers at most 100 causes.
 *
 * Ratcheting, as in Kubernetes: causes found at or below a value equal to the old one at its place are dropped. Fields are
 * matched by name, items of `map` lists by their keys, items of other lists not at all (the list as a whole is). A rule on
 * a parent (required, counts, allOf, anyOf, oneOf, not) therefore passes only if the whole parent is unchanged; inside a
 * combination nothing is matched. Duplicates pass if the old list had them too.
 */
export class ValidationWalk {
  readonly causes: StatusCause[] = [];
  readonly #leaves: LeafValidators;
  readonly #visits: VisitMeter;
  readonly #most: number;
  /** Is what is visited a part of a combination? Visits count then: without combinations each value has but one. */
  #combined: boolean;

  constructor(leaves: LeafValidators, { visits, most = MOST_CAUSES }: { visits: VisitMeter; most?: number }) {
    this.#leaves = leaves;
    this.#visits = visits;
    this.#most = most;
    // A walk that only tries is one of a combination.
    this.#combined = most === 1;
  }

  /** A whole resource: its apiVersion, kind and metadata follow only what the schema declares of them. */
  visitRoot(schema: JsonSchema, object: JsonObject, old: JsonObject | undefined): void {
    this.#visit({ schema, value: object, old, path: '' }, true);
  }

  visit(site: Site): void {
    this.#visit(site, false);
  }

  /** Past the limit of visits too: whoever asked for the walk then refuses the whole. */
  get #full(): boolean {
    return this.causes.length >= this.#most || this.#visits.exhausted;
  }

  /** A walk that only tries stops at the first failure and needs no words. */
  #add(makeCause: () => StatusCause): void {
    if (!this.#full) this.causes.push(this.#most === 1 ? UNNAMED : makeCause());
  }

  #visit(site: Site, root: boolean): void {
    if (this.#full) return;
    if (this.#combined) this.#visits.count(site.value);
    const before = this.causes.length;
    this.#check(site, root);
    if (this.causes.length > before && site.old !== undefined && equalJson(site.value, site.old)) this.causes.length = before;
  }

  #check(site: Site, root: boolean): void {
    const { schema, value } = site;
    if (value === null) {
      this.#checkNull(site);
      return;
    }
    if (!this.#checkLeaf(site)) return;
    if (Array.isArray(value)) this.#checkItems(site, value);
    else if (isJsonObject(value)) this.#checkFields(site, value, root);
    if (schema.allOf || schema.anyOf || schema.oneOf || schema.not) this.#checkCombinations(site);
  }

  #checkNull({ schema, value, path }: Site): void {
    const typed = schema.type || schema['x-kubernetes-int-or-string'];
    if (typed && !schema.nullable) this.#add(() => typeCause(schema, value, path));
    else if (schema.enum && !schema.enum.includes(null)) this.#add(() => enumCause(schema, value, path));
  }

  /** False if the value is of another type: then nothing else said of it would help. */
  #checkLeaf({ schema, value, path }: Site): boolean {
    if (this.#leaves.passes(schema, value)) return true;
    if (this.#most === 1) {
      this.#add(() => UNNAMED);
      return false;
    }
    const failures = this.#leaves.failures(schema, value);
    const mistyped = failures.find((failure) => failure.keyword === 'type');
    for (const failure of mistyped ? [mistyped] : failures) this.#add(() => leafCause(failure, schema, value, path));
    return mistyped === undefined;
  }

  #checkFields({ schema, old, path }: Site, object: JsonObject, root: boolean): void {
    const embedded = !root && isEmbeddedResource(schema);
    if (embedded) this.#checkEmbedded(object, old, path);
    const before = isJsonObject(old) ? old : {};
    for (const key of Object.keys(object)) {
      if (this.#full) return;
      const value = object[key]!;
      const child = (root || embedded) && isResourceField(key) ? propertySchema(schema, key) : childSchema(schema, key);
      if (child === undefined || child === 'any') continue;
      this.visit({ schema: child, value, old: ownValue(before, key), path: childPath(path, key) });
    }
  }

  #checkEmbedded(object: JsonObject, old: JsonValue | undefined, path: string): void {
    for (const key of ['apiVersion', 'kind']) {
      const value = ownValue(object, key);
      const at = childPath(path, key);
      if (value === undefined || value === '') this.#add(() => fieldError.required(at, 'must not be empty'));
      else this.visit({ schema: key === 'kind' ? KIND : API_VERSION, value, old: isJsonObject(old) ? ownValue(old, key) : undefined, path: at });
    }
    const metadata = ownValue(object, 'metadata');
    if (metadata === undefined) return;
    const before = isJsonObject(old) ? ownValue(old, 'metadata') : undefined;
    this.visit({ schema: objectMetaSchema, value: metadata, old: before, path: childPath(path, 'metadata') });
  }

  #checkItems({ schema, old, path }: Site, list: JsonValue[]): void {
    const before = Array.isArray(old) ? old : [];
    const keyOf = itemKeyOf(schema);
    if (keyOf !== undefined) this.#checkDuplicates(schema, list, { before, path });
    const items = schema.items;
    if (!items) return;
    const isMap = keyOf !== undefined && schema['x-kubernetes-list-type'] === 'map';
    const byKey = isMap ? new Map(before.map((item) => [keyOf(item), item])) : undefined;
    for (const [index, value] of list.entries()) {
      if (this.#full) return;
      this.visit({ schema: items, value, old: isMap ? byKey?.get(keyOf(value)) : undefined, path: itemPath(path, index) });
    }
  }

  #checkDuplicates(schema: JsonSchema, list: JsonValue[], { before, path }: { before: JsonValue[]; path: string }): void {
    const keyOf = itemKeyOf(schema);
    if (keyOf === undefined) return;
    const twice = duplicateKeys(list, keyOf);
    if (twice.size === 0) return;
    const tolerated = duplicateKeys(before, keyOf);
    const seen = new Set<string>();
    for (const [index, item] of list.entries()) {
      const key = keyOf(item);
      if (seen.has(key) && !tolerated.has(key)) this.#add(() => fieldError.duplicate(itemPath(path, index), duplicateValue(item, schema)));
      seen.add(key);
    }
  }

  #checkCombinations({ schema, value, path }: Site): void {
    const around = this.#combined;
    this.#combined = true;
    for (const part of schema.allOf ?? []) this.visit({ schema: part, value, old: undefined, path });
    this.#combined = around;
    if (this.#full) return;
    if (schema.anyOf && !schema.anyOf.some((part) => this.#passes(part, value))) {
      this.#add(() => combinationCause(path, 'validate at least one schema (anyOf)'));
    }
    if (schema.oneOf) {
      const count = schema.oneOf.filter((part) => this.#passes(part, value)).length;
      const found = count === 0 ? 'Found none valid' : `Found ${count} valid alternatives`;
      if (count !== 1) this.#add(() => combinationCause(path, `validate one and only one schema (oneOf). ${found}`));
    }
    if (schema.not && this.#passes(schema.not, value)) this.#add(() => combinationCause(path, 'not validate the schema (not)'));
  }

  #passes(schema: JsonSchema, value: JsonValue): boolean {
    const attempt = new ValidationWalk(this.#leaves, { visits: this.#visits, most: 1 });
    attempt.visit({ schema, value, old: undefined, path: '' });
    return attempt.causes.length === 0;
  }
}

const API_VERSION: JsonSchema = { type: 'string', pattern: '^([^/]+/)?[^/]+$' };
const KIND: JsonSchema = { type: 'string', maxLength: 63, pattern: '^[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?$' };

function ownValue(object: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
