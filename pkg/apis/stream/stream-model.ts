import type { JsonSchema, Model } from '#pkg/apimachinery/index';

/** The group of streams, which carry several watches in one answer. */
export const streamGroup = 'stream.svc.run';

/** Watches that one stream carries. */
export const maxSubscriptions = 64;

const name: JsonSchema = { type: 'string', maxLength: 253 };
const selector: JsonSchema = { type: 'string', maxLength: 16_384 };

const schema: JsonSchema = {
  type: 'object',
  required: ['subscriptions'],
  properties: {
    apiVersion: { type: 'string' },
    kind: { type: 'string' },
    since: {
      type: 'string',
      pattern: '^[0-9]{1,20}$',
      description:
        'The resourceVersion after which the changes of all subscriptions begin. Without it, or with 0, they begin with the objects that exist.',
    },
    subscriptions: {
      type: 'array',
      minItems: 1,
      maxItems: maxSubscriptions,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['id'],
      items: {
        type: 'object',
        required: ['id', 'version', 'resource'],
        properties: {
          id: {
            type: 'string',
            pattern: '^[A-Za-z0-9._-]{1,63}$',
            description: 'Each line of the subscription has it.',
          },
          group: { ...name, description: 'The API group; empty or absent for the core group.' },
          version: { ...name, minLength: 1, description: 'The version in which objects are sent.' },
          resource: { ...name, minLength: 1, description: 'The plural.' },
          namespace: { ...name, description: 'Objects of this namespace. Absent: of all.' },
          labelSelector: { ...selector, description: 'As in a list.' },
          fieldSelector: { ...selector, description: 'As in a list.' },
          initialEvents: {
            type: 'boolean',
            description:
              'Begin with the objects that exist, of a state not older than `since`, and a bookmark after them. Default: only without `since`.',
          },
        },
      },
    },
  },
};

/** Nothing of it is stored: a create request is answered with the stream. */
export const streamModel: Model = {
  group: streamGroup,
  names: {
    plural: 'streams',
    singular: 'stream',
    kind: 'Stream',
    listKind: 'StreamList',
    shortNames: [],
    categories: [],
  },
  scope: 'Cluster',
  versions: [
    {
      name: 'v1alpha1',
      served: true,
      deprecated: false,
      schema,
      subresources: { status: false },
      printerColumns: [],
      selectableFields: [],
    },
  ],
  storageVersion: 'v1alpha1',
  indexes: [],
  nameRule: 'path-segment',
};
