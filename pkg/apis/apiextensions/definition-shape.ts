import { fieldError, isJsonObject, type ApiObject, type JsonSchema, type StatusCause } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition } from './definition.ts';
import { definitionSchema } from './definition-schema.ts';

/** More causes are of no use, and a body may have a million errors. */
const maxCauses = 100;

/**
 * Violations of the types, required fields and limits of the built-in schema; at most 100 causes. Without causes the
 * object can be read as a CustomResourceDefinition, except for openAPIV3Schema, which may be any object.
 */
export function shapeCauses(object: ApiObject<unknown, unknown>): StatusCause[] {
  const causes: StatusCause[] = [];
  check(object, definitionSchema, '', causes);
  return causes.slice(0, maxCauses);
}

/** Whether the object has the types of a definition; it may still be invalid. */
export function isDefinition(object: ApiObject<unknown, unknown>): object is CustomResourceDefinition {
  return shapeCauses(object).length === 0;
}

/** Recursion follows the schema, which is ours and shallow, and not the value. */
function check(value: unknown, schema: JsonSchema, field: string, causes: StatusCause[]): void {
  if (causes.length >= maxCauses) return;
  if (!hasType(value, schema.type)) {
    const actual = typeOf(value);
    causes.push(fieldError.typeInvalid(field, actual, `${field} in body must be of type ${schema.type}: "${actual}"`));
    return;
  }
  if (Array.isArray(value)) checkItems(value, schema, field, causes);
  else if (isJsonObject(value)) checkProperties(value, schema, field, causes);
}

function checkItems(items: unknown[], schema: JsonSchema, field: string, causes: StatusCause[]): void {
  if (schema.maxItems !== undefined && items.length > schema.maxItems) {
    causes.push(fieldError.tooMany(field, items.length, schema.maxItems));
    return;
  }
  for (const [index, item] of items.entries()) {
    if (causes.length >= maxCauses) return;
    check(item, schema.items ?? {}, `${field}[${index}]`, causes);
  }
}

function checkProperties(
  value: Record<string, unknown>,
  schema: JsonSchema,
  field: string,
  causes: StatusCause[],
): void {
  const childField = (name: string) => (field === '' ? name : `${field}.${name}`);
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) causes.push(fieldError.required(childField(name)));
  }
  for (const [name, propertySchema] of Object.entries(schema.properties ?? {})) {
    if (Object.hasOwn(value, name)) check(value[name], propertySchema, childField(name), causes);
  }
}

function hasType(value: unknown, type: JsonSchema['type']): boolean {
  if (type === undefined) return true;
  if (type === 'integer') return Number.isSafeInteger(value);
  return typeOf(value) === type;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
