import { Ajv, type ErrorObject, type SchemaObject, type ValidateFunction } from 'ajv';
import type { JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { numberFormats, stringFormats } from './formats.ts';
import { isMultipleOf, isOneOf, leafCheckOf, type LeafCheck } from './leaf-checks.ts';
import { compilePattern, PatternMeter, type MeterSlot } from './linear-pattern.ts';

/** Keywords with the same meaning in JSON Schema. */
const sameKeywords = [
  'enum',
  'pattern',
  'minLength',
  'maxLength',
  'multipleOf',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
  'required',
] as const;

/**
 * The rules of single schema nodes, without their children: `passes` decides whether a value is valid, and Ajv finds
 * the failed rules.
 *
 * A node is prepared when the first value reaches it. Ajv compiles only nodes that a value failed, equal ones once:
 * compiling a large schema at once would block the event loop for most of a second. ValidationWalk visits the nodes.
 * The schema must be valid (validateStructuralSchema), else preparing it throws.
 */
export class LeafValidators {
  /** The meter of the walk that is running: many walks share the prepared checks. */
  readonly #slot: MeterSlot = { meter: new PatternMeter() };
  readonly #checks = new WeakMap<JsonSchema, LeafCheck | 'none'>();
  readonly #ajv = newAjv(this.#slot);
  readonly #byRules = new Map<string, ValidateFunction>();
  readonly #bySchema = new WeakMap<JsonSchema, ValidateFunction>();

  passes(schema: JsonSchema, value: JsonValue, meter: PatternMeter): boolean {
    let check = this.#checks.get(schema);
    if (check === undefined) {
      check = leafCheckOf(rulesOf(schema), this.#slot) ?? 'none';
      this.#checks.set(schema, check);
    }
    this.#slot.meter = meter;
    return check === 'none' || check(value);
  }

  /** The rules of the node that the value fails. */
  failures(schema: JsonSchema, value: JsonValue, meter: PatternMeter): ErrorObject[] {
    this.#slot.meter = meter;
    if (isFloatForInteger(schema, value)) return [typeError];
    const validate = this.#bySchema.get(schema) ?? this.#compile(schema);
    return validate(value) ? [] : (validate.errors ?? []);
  }

  #compile(schema: JsonSchema): ValidateFunction {
    const rules = rulesOf(schema);
    const key = JSON.stringify(rules);
    const compiled = this.#byRules.get(key) ?? this.#ajv.compile(rules);
    this.#byRules.set(key, compiled);
    this.#bySchema.set(schema, compiled);
    return compiled;
  }
}

const typeError: ErrorObject = { keyword: 'type', instancePath: '', schemaPath: '#/type', params: {} };

/** Ajv accepts 1e21 as an integer. */
function isFloatForInteger(schema: JsonSchema, value: JsonValue): boolean {
  const isWhole = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  return isWhole && (schema.type === 'integer' || schema['x-kubernetes-int-or-string'] === true);
}

/** The node's own rules as JSON Schema draft-07: the dialect's booleans, `int-or-string` and null fields translated. */
export function rulesOf(schema: JsonSchema): SchemaObject {
  const rules: SchemaObject = {};
  if (schema['x-kubernetes-int-or-string']) rules['type'] = ['integer', 'string'];
  else if (schema.type) rules['type'] = schema.type;
  for (const keyword of sameKeywords) {
    const value = schema[keyword] ?? undefined;
    if (value !== undefined) rules[keyword] = value;
  }
  if (typeof schema.minimum === 'number')
    rules[schema.exclusiveMinimum ? 'exclusiveMinimum' : 'minimum'] = schema.minimum;
  if (typeof schema.maximum === 'number')
    rules[schema.exclusiveMaximum ? 'exclusiveMaximum' : 'maximum'] = schema.maximum;
  if (schema.format && (stringFormats.has(schema.format) || numberFormats.has(schema.format)))
    rules['format'] = schema.format;
  return rules;
}

function newAjv(slot: MeterSlot): Ajv {
  const regExp = (source: string): { test: (text: string) => boolean } => {
    const pattern = compilePattern(source);
    // Ajv identifies patterns by this text; without it, it would use the first one for all.
    return { test: (text) => slot.meter.test(pattern, text), toString: () => source } as {
      test: (text: string) => boolean;
    };
  };
  // Own properties only: every object inherits a `constructor`.
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    ownProperties: true,
    meta: false,
    validateSchema: false,
    addUsedSchema: false,
    logger: false,
    code: { regExp: Object.assign(regExp, { code: 'compilePattern' }) },
  });
  for (const [name, validate] of stringFormats) ajv.addFormat(name, { type: 'string', validate });
  for (const [name, validate] of numberFormats) ajv.addFormat(name, { type: 'number', validate });
  ajv.removeKeyword('enum').removeKeyword('multipleOf');
  ajv.addKeyword({ keyword: 'enum', schemaType: 'array', errors: false, compile: isOneOf });
  ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    validate: isMultipleOf,
  });
  return ajv;
}
