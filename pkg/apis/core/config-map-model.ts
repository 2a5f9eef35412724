import { metadataMergeKeys, type Model } from '#pkg/apimachinery/index';
import { immutableSchema } from './keyed-data.ts';

/** Configuration that is not confidential. Source: core/v1 ConfigMap. */
export const configMapModel: Model = {
  group: '',
  names: {
    plural: 'configmaps',
    singular: 'configmap',
    kind: 'ConfigMap',
    listKind: 'ConfigMapList',
    shortNames: ['cm'],
    categories: [],
  },
  scope: 'Namespaced',
  versions: [
    {
      name: 'v1',
      served: true,
      deprecated: false,
      schema: {
        type: 'object',
        properties: {
          apiVersion: { type: 'string' },
          kind: { type: 'string' },
          metadata: { type: 'object' },
          immutable: immutableSchema,
          data: {
            type: 'object',
            nullable: true,
            additionalProperties: { type: 'string', nullable: true },
            description: 'Texts, by key.',
          },
          binaryData: {
            type: 'object',
            nullable: true,
            additionalProperties: { type: 'string', format: 'byte', nullable: true },
            description: 'Bytes in base64, by key. No key of data.',
          },
        },
      },
      subresources: { status: false },
      printerColumns: [],
      selectableFields: [],
    },
  ],
  storageVersion: 'v1',
  indexes: [],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
};
