import { isJsonObject, type ApiObject } from '#pkg/apimachinery/index';

/**
 * The definition with Kubernetes' defaults: singular (the kind in lower case), listKind (`<kind>List`) and conversion
 * None. Returns a copy; values of an unexpected type stay for validation to refuse.
 */
export function defaultDefinition<T extends ApiObject<unknown, unknown>>(definition: T): T {
  const { spec } = definition;
  if (!isJsonObject(spec)) return definition;
  return {
    ...definition,
    spec: {
      ...spec,
      ...(isJsonObject(spec['names']) ? { names: defaultNames(spec['names']) } : {}),
      conversion: spec['conversion'] ?? { strategy: 'None' },
    },
  };
}

function defaultNames(names: Record<string, unknown>): Record<string, unknown> {
  const { kind } = names;
  if (typeof kind !== 'string' || kind === '') return names;
  return { ...names, singular: names['singular'] || kind.toLowerCase(), listKind: names['listKind'] || `${kind}List` };
}
