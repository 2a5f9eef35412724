import { metadataMergeKeys, type Model, type ResourceType } from '#pkg/apimachinery/index';
import { definitionSchema } from './definition-schema.ts';
import { definitionGroup, definitionKind, type CustomResourceDefinition } from './definition.ts';

/** The model of definitions themselves. */
export const definitionModel: Model = {
  group: definitionGroup,
  names: {
    plural: 'customresourcedefinitions',
    singular: 'customresourcedefinition',
    kind: definitionKind,
    listKind: `${definitionKind}List`,
    shortNames: ['crd', 'crds'],
    categories: ['api-extensions'],
  },
  scope: 'Cluster',
  versions: [
    {
      name: 'v1',
      served: true,
      deprecated: false,
      schema: definitionSchema,
      subresources: { status: true },
      printerColumns: [],
      selectableFields: [],
    },
  ],
  storageVersion: 'v1',
  indexes: [
    { name: 'spec.group', path: 'spec.group', type: 'string', multi: false, unique: false, nullable: true },
    { name: 'spec.names.kind', path: 'spec.names.kind', type: 'string', multi: false, unique: false, nullable: true },
  ],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
};

/** Definitions, as a client names them. */
export const definitionType: ResourceType<CustomResourceDefinition> = {
  group: definitionGroup,
  version: 'v1',
  kind: definitionKind,
  plural: definitionModel.names.plural,
  namespaced: false,
  hasStatusSubresource: true,
};
