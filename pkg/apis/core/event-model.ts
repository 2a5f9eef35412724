import {
  metadataMergeKeys,
  type AnyObject,
  type IndexDefinition,
  type JsonSchema,
  type Model,
  type ObjectMeta,
  type ResourceType,
} from '#pkg/apimachinery/index';

/** The object of an event. Source: core/v1 ObjectReference. */
export interface InvolvedObject {
  apiVersion?: string;
  kind?: string;
  /** Absent for a cluster-scoped object. */
  namespace?: string;
  name?: string;
  uid?: string;
  resourceVersion?: string;
  fieldPath?: string;
}

/**
 * An event about an object, for people: kept for about an hour; programs must not rely on it. Source: core/v1 Event.
 */
export interface Event extends AnyObject {
  metadata: ObjectMeta;
  involvedObject: InvolvedObject;
  type?: string;
  /** One word, for machines. */
  reason?: string;
  message?: string;
  source?: { component?: string; host?: string };
  /** RFC 3339, UTC, whole seconds; so is `lastTimestamp`. */
  firstTimestamp?: string;
  lastTimestamp?: string;
  /** Number of occurrences from first to last. */
  count?: number;
  reportingComponent?: string;
  reportingInstance?: string;
}

/** Events, as a client names them. */
export const eventType: ResourceType<Event> = {
  group: '',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  hasStatusSubresource: false,
};

const text: JsonSchema = { type: 'string' };
const optionalText: JsonSchema = { type: 'string', nullable: true };
const time: JsonSchema = { type: 'string', format: 'date-time', nullable: true };
const objectReference: JsonSchema = {
  type: 'object',
  properties: {
    apiVersion: text,
    kind: text,
    namespace: text,
    name: text,
    uid: text,
    resourceVersion: text,
    fieldPath: text,
  },
};

/** Kubernetes' own clients select events by these fields. */
const selectable = [
  'involvedObject.kind',
  'involvedObject.namespace',
  'involvedObject.name',
  'involvedObject.uid',
  'involvedObject.apiVersion',
  'reason',
  'reportingComponent',
  'type',
];

function textIndex(path: string): IndexDefinition {
  return { name: path, path, type: 'string', multi: false, unique: false, nullable: true };
}

/** Source: core/v1 Event; no field that its clients write is pruned. */
export const eventModel: Model = {
  group: eventType.group,
  names: {
    plural: eventType.plural,
    singular: 'event',
    kind: eventType.kind,
    listKind: 'EventList',
    shortNames: ['ev'],
    categories: [],
  },
  scope: 'Namespaced',
  versions: [
    {
      name: eventType.version,
      served: true,
      deprecated: false,
      schema: {
        type: 'object',
        required: ['involvedObject'],
        properties: {
          apiVersion: text,
          kind: text,
          metadata: { type: 'object' },
          involvedObject: { ...objectReference, description: 'What it happened to.' },
          type: { type: 'string', maxLength: 128, description: 'Normal or Warning.' },
          reason: { type: 'string', maxLength: 128, description: 'Why, in one word, for machines.' },
          message: { type: 'string', maxLength: 16_384, description: 'What happened, for people.' },
          source: { type: 'object', properties: { component: text, host: text }, description: 'Who tells of it.' },
          firstTimestamp: { ...time, description: 'When it first happened.' },
          lastTimestamp: { ...time, description: 'When it last happened.' },
          count: {
            type: 'integer',
            format: 'int32',
            minimum: 0,
            nullable: true,
            description: 'How often it happened.',
          },
          eventTime: time,
          series: {
            type: 'object',
            nullable: true,
            properties: { count: { type: 'integer', format: 'int32' }, lastObservedTime: time },
          },
          action: optionalText,
          related: { ...objectReference, nullable: true },
          reportingComponent: text,
          reportingInstance: text,
        },
      },
      subresources: { status: false },
      // Its cells are more than one value each: apiserver/table/builtin-tables.
      printerColumns: [],
      selectableFields: selectable.map((path) => `.${path}`),
    },
  ],
  storageVersion: eventType.version,
  indexes: [
    ...selectable.map(textIndex),
    { name: 'lastTimestamp', path: 'lastTimestamp', type: 'date', multi: false, unique: false, nullable: true },
  ],
  nameRule: 'dns-subdomain',
  listMergeKeys: metadataMergeKeys,
};
