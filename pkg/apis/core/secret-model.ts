import { metadataMergeKeys, type Model } from '#pkg/apimachinery/index';
import { immutableSchema } from './keyed-data.ts';

/** Confidential data, which is stored sealed. Source: core/v1 Secret. */
export const secretModel: Model = {
  group: '',
  names: {
    plural: 'secrets',
    singular: 'secret',
    kind: 'Secret',
    listKind: 'SecretList',
    shortNames: [],
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
          type: {
            type: 'string',
            default: 'Opaque',
            description: 'What the data is for. Types of Kubernetes require keys. It never changes.',
          },
          data: {
            type: 'object',
            nullable: true,
            additionalProperties: { type: 'string', format: 'byte', nullable: true },
            description: 'Bytes in base64, by key. Stored sealed.',
          },
          stringData: {
            type: 'object',
            nullable: true,
            additionalProperties: { type: 'string', nullable: true },
            description: 'Texts, by key, to write into data. Never part of an answer.',
          },
        },
      },
      subresources: { status: false },
      printerColumns: [],
      selectableFields: ['.type'],
    },
  ],
  storageVersion: 'v1',
  indexes: [{ name: 'type', path: 'type', type: 'string', multi: false, unique: false, nullable: true }],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
  sealedFields: ['data'],
};
