import { isJsonObject, listKeysOf, type JsonValue, type ListKeys, type ResourceType } from '#pkg/apimachinery/index';

/** Those that the constant of `svc generate types` has, or of the definition of a model in code. */
export function listsOf(model: ResourceType): ListKeys {
  const { lists, definition } = model as ResourceType & { lists?: ListKeys; definition?: JsonValue };
  if (lists !== undefined) return lists;
  const versions = valueAt(definition, 'spec', 'versions');
  const version = Array.isArray(versions)
    ? versions.find((each) => isJsonObject(each) && each['name'] === model.version)
    : undefined;
  return listKeysOf(valueAt(version, 'schema', 'openAPIV3Schema'));
}

function valueAt(value: JsonValue | undefined, ...path: string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((at, name) => (isJsonObject(at) ? at[name] : undefined), value);
}
