import type { Model } from '#pkg/apimachinery/index';

/** The paths of a model's objects, as path templates. */
export interface ResourcePaths {
  /** For all namespaces; undefined for a cluster-scoped model. */
  everywhere: string | undefined;
  collection: string;
  object: string;
}

export function resourcePaths({ group, names, scope }: Model, version: string): ResourcePaths {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const isNamespaced = scope === 'Namespaced';
  const collection = `${root}${isNamespaced ? '/namespaces/{namespace}' : ''}/${names.plural}`;
  return {
    everywhere: isNamespaced ? `${root}/${names.plural}` : undefined,
    collection,
    object: `${collection}/{name}`,
  };
}
