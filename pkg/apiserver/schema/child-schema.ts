import type { JsonSchema } from '#pkg/apimachinery/index';

/** The fields of every resource, which its schema describes only in part. */
const resourceFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

export function isResourceField(key: string): boolean {
  return resourceFields.has(key);
}

export function isEmbeddedResource(schema: JsonSchema): boolean {
  return schema['x-kubernetes-embedded-resource'] === true;
}

export function preservesUnknownFields(schema: JsonSchema): boolean {
  return schema['x-kubernetes-preserve-unknown-fields'] === true;
}

/** The schema of one declared field; own properties only, so that `constructor` finds nothing. */
export function propertySchema(schema: JsonSchema, key: string): JsonSchema | undefined {
  const properties = schema.properties;
  return properties && key !== '__proto__' && Object.hasOwn(properties, key) ? properties[key] : undefined;
}

/** The schema of a field's value: `'any'` if every value is allowed, undefined if the field is unknown. */
export function childSchema(schema: JsonSchema, key: string): JsonSchema | 'any' | undefined {
  const property = propertySchema(schema, key);
  if (property !== undefined) return property;
  const additional = schema.additionalProperties;
  return additional === true ? 'any' : additional || undefined;
}

/** A key may have megabytes, and every cause below it repeats it. */
const maxShownKeyLength = 320;

/** `spec` + `title` = `spec.title`; keys longer than 320 characters are shortened. */
export function childPath(parent: string, key: string): string {
  const shown = key.length > maxShownKeyLength ? `${key.slice(0, maxShownKeyLength)}...` : key;
  return parent === '' ? shown : `${parent}.${shown}`;
}

export function itemPath(parent: string, index: number): string {
  return `${parent}[${index}]`;
}
