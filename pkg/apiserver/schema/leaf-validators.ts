import { Ajv, type ErrorObject, type SchemaObject, type ValidateFunction } from 'ajv';
import type { JsonSchema, JsonValue } from '#pkg/apimachinery/index';
import { numberFormats, stringFormats } from './formats.ts';
import { equalJson } from './json-value.ts';
import { compilePattern, PatternMeter } from './linear-pattern.ts';

/** Keywords whose meaning is the same in JSON Schema. */
const SAME_KEYWORDS = [
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
 * The rules of single schema nodes, without what lies below them, compiled by Ajv.
 *
 * A node is compiled when the first value reaches it, equal ones once: compiling a large schema at a stroke would hold the
 * event loop for most of a second, a node takes a third of a millisecond. What goes over nodes is ValidationWalk.
 * The schema must be a legal one (validateStructuralSchema), else compiling throws.
 */
export class LeafValidators {
  readonly meter = new PatternMeter();
  readonly #first = new CompiledRules(this.meter, false);
  /** Apart, because listing every failure of a value is dear where combinations merely try it. */
  readonly #every = new CompiledRules(this.meter, true);

  passes(schema: JsonSchema, value: JsonValue): boolean {
    return this.#first.find(schema)?.(value) ?? true;
  }

  /** Every rule of the node that the value fails. */
  failures(schema: JsonSchema, value: JsonValue): ErrorObject[] {
    const validate = this.#every.find(schema);
    return validate === undefined || validate(value) ? [] : (validate.errors ?? []);
  }
}

class CompiledRules {
  readonly #ajv: Ajv;
  readonly #byRules = new Map<string, ValidateFunction>();
  readonly #bySchema = new WeakMap<JsonSchema, ValidateFunction | 'none'>();

  constructor(meter: PatternMeter, allErrors: boolean) {
    this.#ajv = newAjv(meter, allErrors);
  }

  /** Undefined where the node itself restricts nothing. */
  find(schema: JsonSchema): ValidateFunction | undefined {
    let found = this.#bySchema.get(schema);
    if (found === undefined) {
      found = this.#compile(schema);
      this.#bySchema.set(schema, found);
    }
    return found === 'none' ? undefined : found;
  }

  #compile(schema: JsonSchema): ValidateFunction | 'none' {
    const rules = rulesOf(schema);
    const key = JSON.stringify(rules);
    if (key === '{}') return 'none';
    const compiled = this.#byRules.get(key) ?? this.#ajv.compile(rules);
    this.#byRules.set(key, compiled);
    return compiled;
  }
}

/** The node's own rules as JSON Schema draft-07: the dialect's booleans, `int-or-string` and null fields translated. */
export function rulesOf(schema: JsonSchema): SchemaObject {
  const rules: SchemaObject = {};
  if (schema['x-kubernetes-int-or-string']) rules['type'] = ['integer', 'string'];
  else if (schema.type) rules['type'] = schema.type;
  for (const keyword of SAME_KEYWORDS) {
    const value = schema[keyword] ?? undefined;
    if (value !== undefined) rules[keyword] = value;
  }
  if (typeof schema.minimum === 'number') rules[schema.exclusiveMinimum ? 'exclusiveMinimum' : 'minimum'] = schema.minimum;
  if (typeof schema.maximum === 'number') rules[schema.exclusiveMaximum ? 'exclusiveMaximum' : 'maximum'] = schema.maximum;
  if (schema.format && (stringFormats.has(schema.format) || numberFormats.has(schema.format))) rules['format'] = schema.format;
  return rules;
}

function newAjv(meter: PatternMeter, allErrors: boolean): Ajv {
  const regExp = (source: string): { test: (text: string) => boolean } => {
    const pattern = compilePattern(source);
    // Ajv tells patterns apart by this text; without it the first one would stand for all.
    return { test: (text) => meter.test(pattern, text), toString: () => source } as { test: (text: string) => boolean };
  };
  // Own properties only: a required field named `constructor` is not there because every object inherits one.
  const ajv = new Ajv({
    strict: false,
    allErrors,
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
  ajv.addKeyword({ keyword: 'multipleOf', type: 'number', schemaType: 'number', errors: false, validate: isMultipleOf });
  return ajv;
}

/** In constant time however long the list: Ajv's own goes through it for every value. */
function isOneOf(values: JsonValue[]): (value: JsonValue) => boolean {
  const scalars = new Set(values);
  const others = values.filter((value) => typeof value === 'object' && value !== null);
  return (value) => scalars.has(value) || (typeof value === 'object' && others.some((other) => equalJson(other, value)));
}

/** As in Kubernetes, to nine digits: 0.3 is a multiple of 0.1, though no binary fraction says so. */
function isMultipleOf(factor: number, value: number): boolean {
  const quotient = factor < 1 ? (1 / factor) * value : value / factor;
  return Math.abs(quotient - Math.round(quotient)) <= 1e-9 * Math.max(1, Math.abs(quotient));
}
