import type { CustomResourceDefinition } from '#pkg/apis/index';

/** Adds the text of the key functions to each version of the definition that has a computed index. */
export function withIndexKeys(definition: CustomResourceDefinition, text: string): CustomResourceDefinition {
  if (computedIndexes(definition).length === 0) return definition;
  const versions = definition.spec.versions.map((version) =>
    version.indexes?.some(({ key }) => key !== undefined) === true ? { ...version, indexKeys: text } : version,
  );
  return { ...definition, spec: { ...definition.spec, versions } };
}

/** The names of the indexes whose keys are computed. */
export function computedIndexes({ spec }: CustomResourceDefinition): string[] {
  return spec.versions.flatMap(({ indexes = [] }) =>
    indexes.flatMap(({ name, key }) => (key === undefined ? [] : [name])),
  );
}
