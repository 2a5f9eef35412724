import { metadataMergeKeys, type JsonSchema, type Model } from '#pkg/apimachinery/index';

/** RFC 3339 with microseconds, as clients of Kubernetes write it. */
const microTime: JsonSchema = { type: 'string', format: 'date-time', nullable: true };

/** The current leader, and until when. Source: coordination.k8s.io/v1 Lease. */
export const leaseModel: Model = {
  group: 'coordination.k8s.io',
  names: { plural: 'leases', singular: 'lease', kind: 'Lease', listKind: 'LeaseList', shortNames: [], categories: [] },
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
          spec: {
            type: 'object',
            properties: {
              holderIdentity: {
                type: 'string',
                nullable: true,
                description: 'Who holds the lease; empty where nobody does.',
              },
              leaseDurationSeconds: {
                type: 'integer',
                format: 'int32',
                minimum: 1,
                nullable: true,
                description: 'After renewTime, how long the holder may be relied on.',
              },
              acquireTime: { ...microTime, description: 'When the holder got the lease.' },
              renewTime: { ...microTime, description: 'When the holder last renewed it.' },
              leaseTransitions: {
                type: 'integer',
                format: 'int32',
                minimum: 0,
                nullable: true,
                description: 'How often the lease has changed hands. A fence names it.',
              },
              strategy: { type: 'string', nullable: true },
              preferredHolder: { type: 'string', nullable: true },
            },
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
