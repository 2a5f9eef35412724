import { isJsonObject, validateIndexes, type IndexDefinition } from '#pkg/apimachinery/index';

const simplePath = /^(?:\.[A-Za-z_][A-Za-z0-9_-]*)+$/;

/** The index of a selectable field, or why the field is not selectable. */
export type SelectableFieldTarget = { index: IndexDefinition } | { problem: string };

/**
 * Follows a path such as `.spec.issuerRef.name` through a schema's properties. The schema may be any value: only own
 * properties that are objects are followed. The index has the path without the leading dot as name.
 */
export function findSelectableField(jsonPath: string, schema: unknown): SelectableFieldTarget {
  if (!simplePath.test(jsonPath))
    return { problem: 'is an invalid path: must be a simple path of names, as .spec.foo' };
  const names = jsonPath.slice(1).split('.');
  if (names[0] === 'metadata') return { problem: 'must not point to fields in metadata' };
  if (names[0] === 'apiVersion' || names[0] === 'kind') return { problem: 'must not point to apiVersion or kind' };
  let current: unknown = schema;
  for (const name of names) {
    current = ownProperty(ownProperty(current, 'properties'), name);
    if (current === undefined) return { problem: 'is an invalid path: does not refer to a valid field' };
  }
  const type = ownProperty(current, 'type');
  if (type === 'string' || type === 'integer' || type === 'boolean') return indexOf(jsonPath.slice(1), type);
  return {
    problem:
      'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
  };
}

function indexOf(path: string, type: 'string' | 'integer' | 'boolean'): SelectableFieldTarget {
  const index: IndexDefinition = { name: path, path, type, multi: false, unique: false, nullable: true };
  const [fault] = validateIndexes([index], '');
  return fault === undefined ? { index } : { problem: `cannot be indexed: ${fault.message}` };
}

function ownProperty(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
