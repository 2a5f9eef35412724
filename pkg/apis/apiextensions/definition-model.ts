import type { Model } from '#pkg/apimachinery/index';
import { definitionGroup, definitionKind } from './definition.ts';
import { definitionSchema } from './definition-schema.ts';

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
      printerColumns: [{ name: 'Created At', type: 'date', jsonPath: '.metadata.creationTimestamp' }],
      selectableFields: [],
    },
  ],
  storageVersion: 'v1',
  indexes: [
    { name: 'spec.group', path: 'spec.group', type: 'string', multi: false, unique: false, nullable: true },
    { name: 'spec.names.kind', path: 'spec.names.kind', type: 'string', multi: false, unique: false, nullable: true },
  ],
  nameRule: 'dns-subdomain',
};
