import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import { childSchema, isEmbeddedResource, isResourceField, preservesUnknownFields } from './child-schema.ts';
import { childPath, itemPath } from './field-path.ts';
import { objectMetaSchema } from './object-meta-schema.ts';

/** Paths named in one answer; pruning itself goes on past them. */
const MOST_PATHS = 100;

/**
 * Removes fields the schema does not know, in place, and names the first 100 by JSON path.
 *
 * `apiVersion`, `kind` and `metadata` of the root stay whatever the schema says. Under `x-kubernetes-preserve-unknown-fields`
 * unknown fields stay, and what is declared there is pruned by its own schema. `additionalProperties: true` keeps whole values.
 */
export function pruneResource(object: JsonObject, schema: JsonSchema): string[] {
  const paths: string[] = [];
  pruneObject(object, schema, { path: '', paths, root: true });
  return paths;
}

/** The same for a value that is not a resource of its own, such as a default. */
export function pruneValue(value: JsonValue, schema: JsonSchema, path = '', paths: string[] = []): string[] {
  if (Array.isArray(value)) {
    const items = schema.items;
    if (items) value.forEach((item, index) => pruneValue(item, items, itemPath(path, index), paths));
  } else if (isJsonObject(value)) {
    pruneObject(value, schema, { path, paths, root: false });
  }
  return paths;
}

function pruneObject(object: JsonObject, schema: JsonSchema, at: { path: string; paths: string[]; root: boolean }): void {
  const embedded = !at.root && isEmbeddedResource(schema);
  for (const key of Object.keys(object)) {
    const value = object[key]!;
    const path = childPath(at.path, key);
    if ((at.root || embedded) && isResourceField(key)) {
      if (embedded && key === 'metadata') pruneValue(value, objectMetaSchema, path, at.paths);
      continue;
    }
    const child = childSchema(schema, key);
    if (child === undefined) {
      if (preservesUnknownFields(schema)) continue;
      delete object[key];
      if (at.paths.length < MOST_PATHS) at.paths.push(path);
    } else if (child !== 'any') {
      pruneValue(value, child, path, at.paths);
    }
  }
}
