import {
  fieldError,
  isJsonObject,
  runSync,
  type JsonSchema,
  type SlicedWork,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { combinationBranches, completenessCauses, nestedCauses, type Branch } from './combination-schema.ts';
import { DefaultBudget } from '../apply-defaults.ts';
import { defaultCauses, type DefaultCheck } from './default-check.ts';
import { LeafValidators } from '../leaf/leaf-validators.ts';
import { listSchemaCauses } from './list-schema.ts';
import { SchemaBudget } from './schema-budget.ts';
import { isSet, keywordCauses } from './schema-keywords.ts';
import { PatternMeter } from '../leaf/linear-pattern.ts';
import { VisitMeter } from '../validation/visit-meter.ts';

const maxCauses = 100;
const maxDepth = 100;

/** Names that would reach an object's prototype; no object contains them. */
const reservedNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

type Level = 'root' | 'field' | 'item';

interface Place {
  path: string;
  level: Level;
  depth: number;
  defaults: DefaultRule;
}

/**
 * Defaults apply only to `name` and `labels` of an embedded resource's metadata, and to nothing in the resource's own.
 */
type DefaultRule = 'allowed' | 'names-only' | 'forbidden';

/**
 * Checks that this is a valid structural schema. One cause per error, at most 100, with field paths below `fieldPath`.
 *
 * Accepts what Kubernetes accepts: every field typed, combinations that only restrict, valid defaults, consistent list
 * keys. In addition, patterns must be RE2 of bounded size, and prototype keys, nesting deeper than 100 and a schema
 * above the SchemaBudget are refused. Null keywords count as absent, unknown ones are ignored. Source:
 * apiextensions-apiserver, pkg/apiserver/schema/validation.go.
 */
export function validateStructuralSchema(schema: unknown, fieldPath: string): StatusCause[] {
  return runSync(validatingStructuralSchema(schema, fieldPath));
}

/** The same in slices: a schema of thousands of parts takes a second. It must not change meanwhile. */
export function* validatingStructuralSchema(schema: unknown, fieldPath: string): SlicedWork<StatusCause[]> {
  const check = new StructuralCheck();
  yield* check.node(schema, { path: fieldPath, level: 'root', depth: 1, defaults: 'allowed' });
  return check.causes.slice(0, maxCauses);
}

class StructuralCheck {
  readonly causes: StatusCause[] = [];
  readonly #defaults: DefaultCheck = {
    leaves: new LeafValidators(),
    meters: { visits: new VisitMeter(), patterns: new PatternMeter() },
    budget: new DefaultBudget(),
  };
  readonly #budget = new SchemaBudget();
  #spent = false;

  /** Checks a node and all nodes below it. */
  *node(raw: unknown, place: Place): SlicedWork<void> {
    const before = this.causes.length;
    yield;
    if (!this.#affordable(raw, place)) return;
    if (!isJsonObject(raw)) {
      this.#add([
        fieldError.typeInvalid(place.path, Array.isArray(raw) ? 'array' : typeof raw, 'must be a schema object'),
      ]);
      return;
    }
    // Typed only after its keywords have the right types.
    const schema: JsonSchema = raw;
    if (!this.#readable(raw, place.path)) return;
    this.#add(typeCauses(schema, place));
    this.#add(resourceCauses(schema, place));
    yield* this.#fields(schema, place);
    yield* this.#items(schema, place);
    yield* this.#combinations(schema, place);
    // These checks read the parts below as schemas, so the parts must be valid.
    if (this.causes.length > before) return;
    this.#add(listSchemaCauses(schema, place.path));
    this.#add(yield* completenessCauses(schema, place.path));
    if (this.causes.length === before) yield* this.#default(schema, place);
  }

  #add(causes: readonly StatusCause[]): void {
    this.causes.push(...causes.slice(0, maxCauses));
  }

  /** False above a limit; the first part above it is the cause, the others are not checked. */
  #affordable(raw: unknown, { path, depth }: { path: string; depth: number }): boolean {
    if (this.#spent || this.causes.length >= maxCauses) return false;
    const pattern = isJsonObject(raw) ? raw['pattern'] : undefined;
    const fault =
      (depth > maxDepth ? `must not be nested deeper than ${maxDepth} levels` : undefined) ??
      this.#budget.countPart() ??
      (typeof pattern === 'string' ? this.#budget.countPattern(pattern) : undefined);
    return this.#within(fault, path);
  }

  #within(fault: string | undefined, path: string): boolean {
    if (fault === undefined) return true;
    this.#spent = true;
    this.#add([fieldError.invalid(path, '', fault)]);
    return false;
  }

  /** Whether the keywords have the right types, and the rules fit into the budget. */
  #readable(raw: Record<string, unknown>, path: string): boolean {
    const causes = keywordCauses(raw, path);
    this.#add(causes);
    return causes.length === 0 && this.#within(this.#budget.countRules(raw), path);
  }

  *#fields(schema: JsonSchema, place: Place): SlicedWork<void> {
    const { properties, additionalProperties: additional } = schema;
    const at = `${place.path}.additionalProperties`;
    if (isSet(properties) && !isJsonObject(properties)) {
      this.#add([
        fieldError.typeInvalid(`${place.path}.properties`, typeof properties, 'must be an object of schemas'),
      ]);
    } else {
      for (const [name, child] of Object.entries(properties ?? {})) {
        const path = `${place.path}.properties[${shortened(name)}]`;
        if (reservedNames.has(name)) this.#add([fieldError.forbidden(path, 'this name is reserved')]);
        else
          yield* this.node(child, {
            path,
            level: 'field',
            depth: place.depth + 1,
            defaults: defaultsBelow(schema, place, name),
          });
      }
    }
    if (!isSet(additional)) return;
    if (isJsonObject(properties) && Object.keys(properties).length > 0) {
      this.#add([fieldError.forbidden(at, 'additionalProperties and properties are mutual exclusive')]);
    } else if (additional === false) {
      this.#add([fieldError.forbidden(at, 'additionalProperties cannot be set to false')]);
    } else if (additional !== true) {
      yield* this.node(additional, { ...place, path: at, level: 'field', depth: place.depth + 1 });
    }
  }

  *#items(schema: JsonSchema, place: Place): SlicedWork<void> {
    const path = `${place.path}.items`;
    if (Array.isArray(schema.items))
      this.#add([fieldError.forbidden(path, 'items must be a schema object and not an array')]);
    else if (isSet(schema.items))
      yield* this.node(schema.items, { ...place, path, level: 'item', depth: place.depth + 1 });
    else if (schema.type === 'array') this.#add([fieldError.required(path, 'must be specified')]);
  }

  *#combinations(schema: JsonSchema, place: Place): SlicedWork<void> {
    const intOrString = schema['x-kubernetes-int-or-string'] === true;
    for (const branch of combinationBranches(schema, place.path, { intOrString }))
      yield* this.#branch(branch, place.depth + 1, intOrString);
  }

  *#branch({ schema, path, fault, typed, same }: Branch, depth: number, intOrString: boolean): SlicedWork<void> {
    yield;
    if (!this.#affordable(schema, { path, depth })) return;
    if (fault !== undefined || !isJsonObject(schema)) {
      this.#add([fieldError.typeInvalid(path, typeof schema, fault ?? 'must be a schema object')]);
      return;
    }
    if (!this.#readable(schema, path)) return;
    this.#add(nestedCauses(schema, path, typed));
    const inner = same && intOrString;
    for (const part of combinationBranches(schema, path, { nested: true, intOrString: inner }))
      yield* this.#branch(part, depth + 1, inner);
  }

  *#default(schema: JsonSchema, place: Place): SlicedWork<void> {
    if (!isSet(schema.default)) return;
    if (place.defaults !== 'allowed')
      this.#add([fieldError.forbidden(`${place.path}.default`, 'must not be set in metadata')]);
    else this.#add(yield* defaultCauses(schema, place.path, this.#defaults));
  }
}

function typeCauses(schema: JsonSchema, { path, level }: Place): StatusCause[] {
  const at = `${path}.type`;
  const intOrString = schema['x-kubernetes-int-or-string'] === true;
  const preserve = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const causes: StatusCause[] = [];
  if (level === 'root' && !schema.type) causes.push(fieldError.required(at, 'must not be empty at the root'));
  else if (level === 'root' && schema.type !== 'object')
    causes.push(fieldError.invalid(at, schema.type, 'must be object at the root'));
  else if (!schema.type && !intOrString && !preserve) {
    causes.push(
      fieldError.required(at, `must not be empty for specified ${level === 'item' ? 'array items' : 'object fields'}`),
    );
  }
  if (intOrString && schema.type)
    causes.push(fieldError.invalid(at, schema.type, 'must be empty if x-kubernetes-int-or-string is true'));
  if (intOrString && preserve) {
    causes.push(
      fieldError.invalid(
        `${path}.x-kubernetes-preserve-unknown-fields`,
        true,
        'must be undefined if x-kubernetes-int-or-string is true',
      ),
    );
  }
  return causes;
}

/** The server defines apiVersion, kind and metadata: a schema may only restrict the names. */
function resourceCauses(schema: JsonSchema, { path, level }: Place): StatusCause[] {
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const properties = isJsonObject(schema.properties)
    ? (schema.properties as Record<string, JsonSchema | undefined>)
    : {};
  const causes: StatusCause[] = [];
  if (embedded && schema.type !== 'object') {
    causes.push(
      fieldError.invalid(`${path}.type`, schema.type ?? '', 'must be object if x-kubernetes-embedded-resource is true'),
    );
  }
  if (embedded && !schema['x-kubernetes-preserve-unknown-fields'] && Object.keys(properties).length === 0) {
    causes.push(
      fieldError.required(
        `${path}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      ),
    );
  }
  if (level !== 'root' && !embedded) return causes;
  for (const [name, type] of [
    ['apiVersion', 'string'],
    ['kind', 'string'],
    ['metadata', 'object'],
  ] as const) {
    const actual = properties[name]?.type;
    if (actual && actual !== type)
      causes.push(fieldError.invalid(`${path}.properties[${name}].type`, actual, `must be ${type}`));
  }
  const metadata: unknown = level === 'root' ? properties['metadata'] : undefined;
  if (!isJsonObject(metadata)) return causes;
  const { type: _type, description: _description, properties: names, ...others } = metadata;
  const restricted = isJsonObject(names) ? Object.keys(names) : [];
  if (Object.values(others).some(isSet) || restricted.some((name) => name !== 'name' && name !== 'generateName')) {
    causes.push(
      fieldError.forbidden(
        `${path}.properties[metadata]`,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      ),
    );
  }
  return causes;
}

function defaultsBelow(schema: JsonSchema, place: Place, name: string): DefaultRule {
  if (name === 'metadata' && place.level === 'root') return 'forbidden';
  if (name === 'metadata' && schema['x-kubernetes-embedded-resource'] === true) return 'names-only';
  if (place.defaults === 'names-only') return name === 'name' || name === 'labels' ? 'allowed' : 'forbidden';
  return place.defaults;
}

function shortened(name: string): string {
  return name.length > 320 ? `${name.slice(0, 320)}...` : name;
}
