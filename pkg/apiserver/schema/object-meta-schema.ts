import type { JsonSchema } from '#pkg/apimachinery/index';

const text: JsonSchema = { type: 'string' };
const time: JsonSchema = { type: 'string', format: 'date-time', nullable: true };
const texts: JsonSchema = { type: 'object', additionalProperties: text };

/**
 * Metadata of a resource embedded in another (`x-kubernetes-embedded-resource`): unknown fields are pruned, wrong types
 * refused. Times may be null, as Go programs write them. Source: metav1.ObjectMeta.
 */
export const objectMetaSchema: JsonSchema = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { type: 'integer' },
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: { type: 'integer' },
    labels: texts,
    annotations: texts,
    finalizers: { type: 'array', items: text },
    ownerReferences: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: text,
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
    managedFields: { type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
};
