import { isJsonObject } from '../meta/object.ts';

/**
 * How the lists of a model merge, by their path (`spec.ports`, `spec.groups[*].members`): by the values of these
 * properties; a set, without properties, by the values themselves. Another list is one value.
 */
export type ListKeys = Readonly<Record<string, readonly string[]>>;

/** The lists that a structural schema declares as maps and sets, wherever they are under a property or an item. */
export function listKeysOf(schema: unknown): ListKeys {
  const found: Record<string, readonly string[]> = {};
  collect(schema, '', found);
  return found;
}

function collect(schema: unknown, path: string, found: Record<string, readonly string[]>): void {
  if (!isJsonObject(schema)) return;
  const { items, properties, 'x-kubernetes-list-type': type, 'x-kubernetes-list-map-keys': keys } = schema;
  if (type === 'set') found[path] = [];
  if (type === 'map' && Array.isArray(keys)) found[path] = keys.map(String);
  collect(items, `${path}[*]`, found);
  if (!isJsonObject(properties)) return;
  for (const [name, inner] of Object.entries(properties)) collect(inner, path === '' ? name : `${path}.${name}`, found);
}
