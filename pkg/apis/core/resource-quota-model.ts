import { metadataMergeKeys, type JsonSchema, type Model } from '#pkg/apimachinery/index';
import { resourceQuotaType } from './resource-quota.ts';
import { conditionSchema } from '../meta/condition-schema.ts';

const quantities: JsonSchema = {
  type: 'object',
  additionalProperties: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
};

export const resourceQuotaModel: Model = {
  group: resourceQuotaType.group,
  names: {
    plural: resourceQuotaType.plural,
    singular: 'resourcequota',
    kind: resourceQuotaType.kind,
    listKind: 'ResourceQuotaList',
    shortNames: ['quota'],
    categories: [],
  },
  scope: 'Namespaced',
  versions: [
    {
      name: resourceQuotaType.version,
      served: true,
      deprecated: false,
      schema: {
        type: 'object',
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          spec: {
            type: 'object',
            properties: {
              hard: {
                ...quantities,
                description:
                  'Limits by name: count/<plural>.<group> is a number of objects, bytes/<plural>.<group> how long their JSON is, and bytes that of all objects in the namespace.',
              },
              scopes: { type: 'array', items: { type: 'string' }, description: 'Must be empty.' },
              scopeSelector: {
                type: 'object',
                'x-kubernetes-preserve-unknown-fields': true,
                description: 'Must be empty.',
              },
            },
          },
          status: {
            type: 'object',
            properties: {
              hard: { ...quantities, description: 'The limits that are in force.' },
              used: { ...quantities, description: 'What the objects take, by the same names.' },
              conditions: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['type'],
                description: 'Counted: False until the objects that were there before the quota are counted.',
                items: conditionSchema,
              },
            },
          },
        },
      },
      subresources: { status: true },
      // Its cells are more than one value each: apiserver/table/builtin-tables.
      printerColumns: [],
      selectableFields: [],
    },
  ],
  storageVersion: resourceQuotaType.version,
  indexes: [],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
};
