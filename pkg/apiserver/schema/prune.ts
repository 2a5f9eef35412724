import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import {
  childPath,
  childSchema,
  isEmbeddedResource,
  isResourceField,
  itemPath,
  preservesUnknownFields,
} from './child-schema.ts';
import { objectMetaSchema } from './object-meta-schema.ts';

/** Paths listed in one answer; pruning itself continues beyond. */
const maxPaths = 100;

/**
 * Removes unknown fields in place, and returns the JSON paths of the first 100.
 *
 * `apiVersion`, `kind` and `metadata` of the root stay whatever the schema says. Under
 * `x-kubernetes-preserve-unknown-fields` unknown fields stay, and declared fields are pruned by their own schema.
 * `additionalProperties: true` keeps whole values.
 */
export function pruneResource(object: JsonObject, schema: JsonSchema): string[] {
  const pruning = new Pruning();
  pruning.object(object, schema, true);
  return pruning.unknown;
}

/** The same for a value that is not a resource itself, such as a default. */
export function pruneValue(value: JsonValue, schema: JsonSchema): string[] {
  const pruning = new Pruning();
  pruning.value(value, schema);
  return pruning.unknown;
}

class Pruning {
  /** Paths of removed fields. */
  readonly unknown: string[] = [];
  /** The path of the current value; formatted only for removed fields. */
  readonly #path: (string | number)[] = [];

  value(value: JsonValue, schema: JsonSchema): void {
    if (Array.isArray(value)) {
      const { items } = schema;
      if (items === undefined) return;
      for (const [index, item] of value.entries()) this.#step(index, item, items);
    } else if (isJsonObject(value)) {
      this.object(value, schema, false);
    }
  }

  object(object: JsonObject, schema: JsonSchema, isRoot: boolean): void {
    const isEmbedded = !isRoot && isEmbeddedResource(schema);
    for (const key of Object.keys(object)) {
      if ((isRoot || isEmbedded) && isResourceField(key)) {
        if (isEmbedded && key === 'metadata') this.#step(key, object[key]!, objectMetaSchema);
        continue;
      }
      const child = childSchema(schema, key);
      if (child === undefined) {
        if (!preservesUnknownFields(schema)) this.#remove(object, key);
      } else if (child !== 'any') {
        this.#step(key, object[key]!, child);
      }
    }
  }

  #step(to: string | number, value: JsonValue, schema: JsonSchema): void {
    // A scalar has no children.
    if (typeof value !== 'object' || value === null) return;
    this.#path.push(to);
    this.value(value, schema);
    this.#path.pop();
  }

  #remove(object: JsonObject, key: string): void {
    delete object[key];
    if (this.unknown.length < maxPaths)
      this.unknown.push(
        [...this.#path, key].reduce<string>(
          (path, step) => (typeof step === 'number' ? itemPath(path, step) : childPath(path, step)),
          '',
        ),
      );
  }
}
