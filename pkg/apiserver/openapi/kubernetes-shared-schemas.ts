import type { GroupVersionKind, JsonObject } from '#pkg/apimachinery/index';
import { scaleKind } from '../rest/scale-object.ts';
import {
  deleteOptionsName,
  listMetaName,
  managedFieldsName,
  objectMetaName,
  ownerReferenceName,
  reference,
  scaleName,
  statusName,
  tableName,
} from './kubernetes-schema.ts';

const text: JsonObject = { type: 'string' };
const time: JsonObject = { type: 'string', format: 'date-time' };
const flag: JsonObject = { type: 'boolean' };
const integer: JsonObject = { type: 'integer', format: 'int64' };
const texts: JsonObject = { type: 'object', additionalProperties: { type: 'string', default: '' } };

const ownerReference: JsonObject = {
  type: 'object',
  description: 'An object that another depends on.',
  required: ['apiVersion', 'kind', 'name', 'uid'],
  properties: {
    apiVersion: { ...text, description: 'API version of the owner.' },
    kind: { ...text, description: 'Kind of the owner.' },
    name: { ...text, description: 'Name of the owner.' },
    uid: { ...text, description: 'UID of the owner.' },
    controller: { ...flag, description: 'Is it the managing controller?' },
    blockOwnerDeletion: { ...flag, description: 'Must this object go before the owner can, on a foreground deletion?' },
  },
  'x-kubernetes-map-type': 'atomic',
};

const managedFields: JsonObject = {
  type: 'object',
  description: 'The fields that one manager has set.',
  properties: {
    manager: { ...text, description: 'Who manages the fields.' },
    operation: { ...text, description: 'Apply or Update.' },
    apiVersion: { ...text, description: 'The version the fields are named in.' },
    time: { ...time, description: 'When the fields were last changed.' },
    fieldsType: { ...text, description: 'FieldsV1.' },
    fieldsV1: { type: 'object', description: 'The fields, as a trie.' },
    subresource: { ...text, description: 'The subresource they were written through.' },
  },
};

/** Metadata with all fields, for `kubectl explain --recursive`. Source: meta/v1 ObjectMeta. */
const objectMeta: JsonObject = {
  type: 'object',
  description: 'Metadata that every object has.',
  properties: {
    name: { ...text, description: 'Unique within the resource and namespace. Cannot be changed.' },
    generateName: { ...text, description: 'A prefix from which the server makes a name, where there is none.' },
    namespace: { ...text, description: 'The namespace of the object; absent on cluster-scoped ones.' },
    labels: { ...texts, description: 'Keys and values to organize and select objects by.' },
    annotations: { ...texts, description: 'Further data, which is not indexed.' },
    uid: { ...text, description: 'Unique over time and space. Set by the server.' },
    resourceVersion: {
      ...text,
      description: 'The state of the object, opaque to clients. Sent with an update, it is a precondition.',
    },
    generation: { ...integer, description: 'Counts the changes of the desired state. Set by the server.' },
    creationTimestamp: { ...time, description: 'When the object was created. Set by the server.' },
    deletionTimestamp: { ...time, description: 'When its deletion was asked for. Set by the server.' },
    deletionGracePeriodSeconds: { ...integer, description: 'Set by the server with deletionTimestamp.' },
    finalizers: {
      type: 'array',
      items: { ...text, default: '' },
      description: 'Who must let go before the object is removed.',
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    },
    ownerReferences: {
      type: 'array',
      items: { allOf: [reference(ownerReferenceName)], default: {} },
      description: 'Objects this one depends on.',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-merge-key': 'uid',
      'x-kubernetes-patch-strategy': 'merge',
    },
    managedFields: {
      type: 'array',
      items: { allOf: [reference(managedFieldsName)], default: {} },
      description: 'Which manager set which fields.',
      'x-kubernetes-list-type': 'atomic',
    },
  },
};

const listMeta: JsonObject = {
  type: 'object',
  description: 'Metadata of a list.',
  properties: { resourceVersion: text, continue: text, remainingItemCount: integer },
};

const deleteOptions: JsonObject = {
  type: 'object',
  description: 'How an object is deleted. Wins over the query, but for dryRun, which either may ask for.',
  properties: {
    apiVersion: text,
    kind: text,
    dryRun: { type: 'array', items: { ...text, default: '' }, description: 'All: nothing is deleted.' },
    gracePeriodSeconds: { ...integer, description: 'Without effect.' },
    orphanDependents: { ...flag, description: 'An older form of propagationPolicy: true is Orphan, false Background.' },
    preconditions: {
      type: 'object',
      description: 'What must hold of the object.',
      properties: { resourceVersion: text, uid: text },
    },
    propagationPolicy: { ...text, description: 'Background, Foreground or Orphan.' },
  },
  'x-kubernetes-group-version-kind': [kindExtension({ group: '', version: 'v1', kind: 'DeleteOptions' })],
};

const status: JsonObject = {
  type: 'object',
  description: 'The outcome of a request that has no object to answer with.',
  properties: {
    apiVersion: text,
    kind: text,
    metadata: { allOf: [reference(listMetaName)] },
    status: text,
    message: text,
    reason: text,
    details: {
      type: 'object',
      properties: {
        name: text,
        group: text,
        kind: text,
        uid: text,
        causes: { type: 'array', items: { type: 'object', properties: { reason: text, message: text, field: text } } },
        retryAfterSeconds: { type: 'integer', format: 'int32' },
      },
    },
    code: { type: 'integer', format: 'int32' },
  },
  'x-kubernetes-group-version-kind': [kindExtension({ group: '', version: 'v1', kind: 'Status' })],
};

const scale: JsonObject = {
  type: 'object',
  description: 'How many replicas there should be, and are.',
  properties: {
    apiVersion: text,
    kind: text,
    metadata: { allOf: [reference(objectMetaName)] },
    spec: { type: 'object', properties: { replicas: { type: 'integer', format: 'int32' } } },
    status: {
      type: 'object',
      required: ['replicas'],
      properties: { replicas: { type: 'integer', format: 'int32' }, selector: text },
    },
  },
  'x-kubernetes-group-version-kind': [kindExtension(scaleKind)],
};

const table: JsonObject = {
  type: 'object',
  description: 'Objects as rows, for people.',
  required: ['columnDefinitions', 'rows'],
  properties: {
    apiVersion: text,
    kind: text,
    metadata: { allOf: [reference(listMetaName)] },
    columnDefinitions: {
      type: 'array',
      description: 'The columns; of a watch only in the first event.',
      items: {
        type: 'object',
        required: ['name', 'type', 'format', 'description', 'priority'],
        properties: {
          name: text,
          type: text,
          format: text,
          description: text,
          priority: { type: 'integer', format: 'int32', description: 'Above 0 it is shown only on request.' },
        },
      },
    },
    rows: {
      type: 'array',
      items: {
        type: 'object',
        required: ['cells'],
        properties: {
          cells: { type: 'array', description: 'A value for each column.', items: {} },
          object: { type: 'object', description: 'What includeObject asks for.' },
        },
      },
    },
  },
  'x-kubernetes-group-version-kind': [kindExtension({ group: 'meta.k8s.io', version: 'v1', kind: 'Table' })],
};

/** Schemas in the documents of all groups. */
export const kubernetesSharedSchemas: Readonly<Record<string, JsonObject>> = {
  [objectMetaName]: objectMeta,
  [ownerReferenceName]: ownerReference,
  [managedFieldsName]: managedFields,
  [listMetaName]: listMeta,
  [deleteOptionsName]: deleteOptions,
  [statusName]: status,
  [scaleName]: scale,
  [tableName]: table,
};

function kindExtension(kind: GroupVersionKind): JsonObject {
  return { ...kind };
}
