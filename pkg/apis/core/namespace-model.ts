import { metadataMergeKeys, type Model } from '#pkg/apimachinery/index';
import { conditionSchema } from '../meta/condition-schema.ts';

export const defaultNamespace = 'default';
/** The platform's own namespace, for its leases. */
export const systemNamespace = 'svc-system';
/** Tools of Kubernetes read these: for the identity of a cluster, and for objects of their own. */
export const kubernetesNamespaces: readonly string[] = ['kube-system', 'kube-public'];

/** Every namespace has this label with its name, so that a selector can name it. Source: core/v1 LabelMetadataName. */
export const namespaceNameLabel = 'kubernetes.io/metadata.name';

/** Contains namespaced objects. Source: core/v1 Namespace. */
export const namespaceModel: Model = {
  group: '',
  names: {
    plural: 'namespaces',
    singular: 'namespace',
    kind: 'Namespace',
    listKind: 'NamespaceList',
    shortNames: ['ns'],
    categories: [],
  },
  scope: 'Cluster',
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
          spec: {
            type: 'object',
            properties: {
              finalizers: {
                type: 'array',
                items: { type: 'string' },
                description: 'Who must let go of the namespace before it is removed.',
              },
            },
          },
          status: {
            type: 'object',
            properties: {
              phase: { type: 'string', enum: ['Active', 'Terminating'] },
              conditions: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['type'],
                items: conditionSchema,
              },
            },
          },
        },
      },
      subresources: { status: true },
      printerColumns: [],
      selectableFields: ['.status.phase'],
    },
  ],
  storageVersion: 'v1',
  indexes: [
    { name: 'status.phase', path: 'status.phase', type: 'string', multi: false, unique: false, nullable: true },
  ],
  nameRule: 'dns-label',
  listMergeKeys: { ...metadataMergeKeys, 'status.conditions': 'type' },
};
