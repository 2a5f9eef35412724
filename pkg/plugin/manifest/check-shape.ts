import {
  formatPath,
  isJsonObject,
  nearestName,
  type JsonSchema,
  type JsonValue,
  type PathSegment,
} from '#pkg/apimachinery/index';

type Path = readonly PathSegment[];

/**
 * The errors of a value against a schema in the dialect that Plugin's own schema uses; a sentence each. Unknown fields
 * are errors here, because the author of the file meant something by them; they are not pruned.
 */
export function shapeProblems(schema: JsonSchema, value: JsonValue, path: Path): string[] {
  if (!isOfType(schema, value))
    return [`${formatPath(path)} must be ${article(schema.type ?? 'object')}, not ${typeName(value)}`];
  if (Array.isArray(value)) {
    const { maxItems = Infinity, items = {} } = schema;
    if (value.length > maxItems)
      return [`${formatPath(path)} has ${value.length} items: at most ${maxItems} are allowed`];
    return value.flatMap((item, i) => shapeProblems(items, item, [...path, i]));
  }
  return isJsonObject(value) ? fieldProblems(schema, value, path) : scalarProblems(schema, value, path);
}

function fieldProblems(
  { properties, additionalProperties, required = [], maxProperties = Infinity }: JsonSchema,
  value: Record<string, JsonValue>,
  path: Path,
): string[] {
  const names = Object.keys(value);
  if (names.length > maxProperties)
    return [`${formatPath(path)} has ${names.length} fields: at most ${maxProperties} are allowed`];
  const known = properties ?? {};
  const missing = required
    .filter((name) => !Object.hasOwn(value, name))
    .map((name) => `${formatPath([...path, name])} is missing`);
  const wrong = names.flatMap((name) => {
    const schema = Object.hasOwn(known, name) ? known[name] : additionalProperties;
    return typeof schema === 'object'
      ? shapeProblems(schema, value[name]!, [...path, name])
      : [unknownField([...path, name], name, Object.keys(known))];
  });
  return [...missing, ...wrong];
}

function unknownField(path: Path, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return `${formatPath(path)} is no field of a plugin${nearest === undefined ? '' : `; did you mean ${nearest}?`}`;
}

function scalarProblems(
  { enum: allowed, maxLength = Infinity, minimum = -Infinity, maximum = Infinity }: JsonSchema,
  value: JsonValue,
  path: Path,
): string[] {
  const field = formatPath(path);
  if (allowed !== undefined && !allowed.includes(value))
    return [`${field} must be one of ${allowed.map((each) => JSON.stringify(each)).join(', ')}`];
  if (typeof value === 'string' && value.length > maxLength) return [`${field} is longer than ${maxLength} characters`];
  if (typeof value === 'number' && (value < minimum || value > maximum))
    return [`${field} must be from ${minimum} to ${maximum}`];
  return [];
}

function isOfType({ type }: JsonSchema, value: JsonValue): boolean {
  if (type === undefined) return true;
  if (type === 'integer') return Number.isSafeInteger(value);
  return typeName(value) === type;
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function article(type: string): string {
  return /^[aio]/.test(type) ? `an ${type}` : `a ${type}`;
}
