import {
  formatApiVersion,
  isJsonObject,
  type GroupVersionKind,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type Scope,
} from '#pkg/apimachinery/index';

/** Examples are for people, who do not read more values or levels than this. */
const maxValues = 100;
const maxLevels = 8;
const maxTextLength = 64;

/**
 * An example of an object to post: required fields, fields with examples or defaults, and plain fields near the top. It
 * follows types, enums, bounds and lengths, but not patterns and combinations: only an `example` in the schema can
 * satisfy those.
 */
export function exampleObject(schema: JsonSchema, kind: GroupVersionKind, scope: Scope): JsonObject {
  const budget = { left: maxValues };
  const {
    apiVersion: _apiVersion,
    kind: _kind,
    metadata: _metadata,
    status: _status,
    ...fields
  } = schema.properties ?? {};
  const body = exampleValue({ ...schema, properties: fields }, budget, 0);
  return {
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    metadata: { name: 'example', ...(scope === 'Namespaced' ? { namespace: 'default' } : {}) },
    ...(isJsonObject(body) ? body : {}),
  };
}

function exampleValue(schema: JsonSchema, budget: { left: number }, level: number): JsonValue {
  budget.left -= 1;
  if (isSet(schema.example)) return schema.example;
  if (isSet(schema.default)) return schema.default;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0]!;
  switch (schema.type) {
    case 'object':
      return exampleFields(schema, budget, level);
    case 'array':
      return exampleItems(schema, budget, level);
    case 'string':
      return exampleText(schema);
    case 'boolean':
      return true;
    case 'integer':
    case 'number':
      return exampleNumber(schema);
    default:
      return schema['x-kubernetes-int-or-string'] === true ? 1 : {};
  }
}

function exampleFields(schema: JsonSchema, budget: { left: number }, level: number): JsonObject {
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const combines = [schema.allOf, schema.anyOf, schema.oneOf, schema.not].some(isSet);
  const shown: [string, JsonValue][] = [];
  for (const [name, field] of Object.entries(schema.properties ?? {})) {
    const isWanted =
      required.has(name) ||
      isSet(field.example) ||
      isSet(field.default) ||
      (level === 0 && name === 'spec') ||
      (level <= 2 && !combines && isPlain(field));
    if (isWanted && budget.left > 0 && level < maxLevels) shown.push([name, exampleValue(field, budget, level + 1)]);
  }
  return Object.fromEntries(shown);
}

function exampleItems({ items, minItems }: JsonSchema, budget: { left: number }, level: number): JsonValue[] {
  const count = Math.min(Math.max(minItems ?? 0, 1), 3);
  if (!isJsonObject(items) || budget.left <= 0 || level >= maxLevels) return [];
  return Array.from({ length: count }, () => exampleValue(items, budget, level + 1));
}

function exampleText({ format, minLength, maxLength }: JsonSchema): string {
  if (format === 'date-time') return '2026-01-01T00:00:00Z';
  if (format === 'date') return '2026-01-01';
  const length = Math.min(Math.max(minLength ?? 0, 6), maxLength ?? maxTextLength, maxTextLength);
  return 'string'.padEnd(length, 'x').slice(0, Math.max(length, 0));
}

function exampleNumber({ minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf, type }: JsonSchema): number {
  const step = isSet(multipleOf) && multipleOf > 0 ? multipleOf : type === 'integer' ? 1 : 0.5;
  const floor = isSet(minimum) ? minimum + (exclusiveMinimum === true ? step : 0) : undefined;
  const ceiling = isSet(maximum) ? maximum - (exclusiveMaximum === true ? step : 0) : undefined;
  const wanted = floor !== undefined && floor > step ? floor : ceiling !== undefined && ceiling < step ? ceiling : step;
  return isSet(multipleOf) ? Math.ceil(wanted / step) * step : wanted;
}

function isPlain({ type, pattern, format, enum: values }: JsonSchema): boolean {
  return (
    type !== undefined &&
    type !== 'object' &&
    type !== 'array' &&
    !isSet(pattern) &&
    (!isSet(format) || isSet(values) || type !== 'string')
  );
}

function isSet<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null;
}
