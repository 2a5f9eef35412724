import type { JsonObject } from '#pkg/apimachinery/index';
import { reference } from './kubernetes-schema.ts';
import { referenceParameters } from './reference-parameters.ts';

const text: JsonObject = { type: 'string' };
const count: JsonObject = { type: 'integer', minimum: 0 };
const flag: JsonObject = { type: 'boolean' };
const texts: JsonObject = { type: 'object', additionalProperties: { type: 'string' } };
const setByServer = { readOnly: true };

/** Shared schemas have names without dots, which no model's schema has. */
const schemas: Readonly<Record<string, JsonObject>> = {
  ObjectMeta: {
    type: 'object',
    description: 'Metadata of an object. Timestamps are RFC 3339, UTC, whole seconds.',
    properties: {
      name: { ...text, description: 'Unique within the resource and namespace.', maxLength: 253 },
      generateName: { ...text, description: 'A prefix from which the server makes a name, where there is none.' },
      namespace: { ...text, description: 'Absent on cluster-scoped objects.' },
      labels: { ...texts, description: 'Indexed; keys `<prefix>/<name>`.' },
      annotations: { ...texts, description: 'Not indexed; at most 256 KiB together.' },
      uid: { ...text, ...setByServer },
      resourceVersion: {
        ...text,
        description: 'Opaque. Sent with an update, it is a precondition: 409 if the object has changed since.',
      },
      generation: { type: 'integer', ...setByServer },
      creationTimestamp: { type: ['string', 'null'], format: 'date-time', ...setByServer },
      deletionTimestamp: { type: ['string', 'null'], format: 'date-time', ...setByServer },
      deletionGracePeriodSeconds: { type: 'integer', ...setByServer },
      finalizers: { type: 'array', items: text, description: 'Who must let go before the object is removed.' },
      ownerReferences: {
        type: 'array',
        items: {
          type: 'object',
          required: ['apiVersion', 'kind', 'name', 'uid'],
          properties: {
            apiVersion: text,
            kind: text,
            name: text,
            uid: text,
            controller: flag,
            blockOwnerDeletion: flag,
          },
        },
      },
      managedFields: { type: 'array', items: { type: 'object' } },
    },
  },
  ListMeta: { type: 'object', properties: { resourceVersion: text, continue: text, remainingItemCount: count } },
  ListEnvelope: {
    type: 'object',
    description: 'A list. The page fields are there unless `limit` was used.',
    required: ['apiVersion', 'kind', 'metadata', 'items'],
    properties: {
      apiVersion: text,
      kind: text,
      metadata: reference('ListMeta'),
      items: { type: 'array' },
      page: { ...count, description: 'From 1.' },
      size: count,
      total: { ...count, description: 'Number of matches; a lower bound where totalIsLowerBound is true.' },
      totalIsLowerBound: flag,
      totalPages: count,
      first: flag,
      last: flag,
      hasNext: flag,
      hasPrevious: flag,
    },
  },
  WatchEvent: {
    type: 'object',
    description: 'One change, one line of JSON.',
    required: ['type', 'object'],
    properties: {
      type: { enum: ['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR'] },
      object: { type: 'object', description: 'The object; of an ERROR a Status.' },
    },
  },
  Table: {
    type: 'object',
    description:
      'Objects as rows, for people; with the fields of a page like a list. apiVersion `meta.k8s.io/v1`, or v1beta1 for `v=v1beta1`.',
    required: ['kind', 'apiVersion', 'metadata', 'columnDefinitions', 'rows'],
    properties: {
      kind: { const: 'Table' },
      apiVersion: text,
      metadata: reference('ListMeta'),
      columnDefinitions: {
        type: ['array', 'null'],
        description: "The model's printer columns; null in all events of a watch but the first.",
        items: {
          type: 'object',
          properties: {
            name: text,
            type: text,
            format: text,
            description: text,
            priority: { type: 'integer', description: 'Above 0 it is shown only on request.' },
          },
        },
      },
      rows: {
        type: 'array',
        items: {
          type: 'object',
          required: ['cells', 'object'],
          properties: {
            cells: { type: 'array', description: 'A value for each column.' },
            object: { type: ['object', 'null'], description: 'What includeObject asks for.' },
          },
        },
      },
    },
  },
  Scale: {
    type: 'object',
    description: 'How many replicas there should be, and are. apiVersion `autoscaling/v1`.',
    properties: {
      apiVersion: text,
      kind: text,
      metadata: reference('ObjectMeta'),
      spec: { type: 'object', properties: { replicas: { ...count, maximum: 2_147_483_647 } } },
      status: { type: 'object', properties: { replicas: count, selector: text } },
    },
  },
  DeleteOptions: {
    type: 'object',
    description: 'Wins over the query, but for dryRun, which either may ask for.',
    properties: {
      kind: { const: 'DeleteOptions' },
      apiVersion: text,
      preconditions: {
        type: 'object',
        description: '409 unless they hold.',
        properties: { uid: text, resourceVersion: text },
      },
      propagationPolicy: { enum: ['Background', 'Foreground', 'Orphan'] },
      dryRun: { type: 'array', items: { enum: ['All'] } },
      gracePeriodSeconds: { ...count, description: 'Without effect.' },
    },
  },
  JsonPatch: {
    type: 'array',
    description: 'RFC 6902.',
    items: {
      type: 'object',
      required: ['op', 'path'],
      properties: {
        op: { enum: ['add', 'remove', 'replace', 'move', 'copy', 'test'] },
        path: text,
        from: text,
        value: {},
      },
    },
  },
  Status: {
    type: 'object',
    description:
      'The outcome of a request that has no object to answer with: every failure, and a deletion that is done.',
    required: ['kind', 'apiVersion', 'metadata', 'status', 'code'],
    properties: {
      kind: { const: 'Status' },
      apiVersion: { const: 'v1' },
      metadata: reference('ListMeta'),
      status: { enum: ['Success', 'Failure'] },
      message: { ...text, description: 'For people.' },
      reason: { ...text, description: 'For programs: `NotFound`, `Invalid`, `Conflict`...' },
      details: {
        type: 'object',
        properties: {
          name: text,
          group: text,
          kind: text,
          uid: text,
          causes: {
            type: 'array',
            items: {
              type: 'object',
              required: ['reason', 'message'],
              properties: { reason: text, message: text, field: { ...text, description: 'JSON path of the field.' } },
            },
          },
          retryAfterSeconds: count,
        },
      },
      code: { type: 'integer' },
    },
  },
  Problem: {
    type: 'object',
    description: 'The same facts by RFC 9457, for `Accept: application/problem+json`.',
    required: ['type', 'title', 'status'],
    properties: {
      type: text,
      title: text,
      status: { type: 'integer' },
      detail: text,
      instance: text,
      code: { ...text, description: 'The reason of the Status.' },
      errors: { type: 'array', items: { type: 'object', properties: { field: text, detail: text, code: text } } },
      requestId: text,
    },
  },
};

const failures = {
  400: 'Malformed: the body, a selector, a parameter; or a field that is not indexed.',
  401: 'No credential, or one that is not valid.',
  403: 'The user may not do this.',
  404: 'No such object, or no such resource.',
  406: 'Nothing the client accepts can be made.',
  409: 'The name exists, the object has changed since, a unique index holds the value, or the fence is lost.',
  410: 'The state asked for is no longer kept: list anew.',
  412: 'The object does not have the ETag in If-Match.',
  413: 'The body is larger than 3 MiB.',
  415: 'The body is of a type that is not taken here.',
  422: 'The object does not hold to the schema; one cause a field.',
  429: 'Too many requests; Retry-After says when to come again.',
  503: 'Not now (an index is being built, the server is stopping); Retry-After says when to come again.',
  504: 'The request took too long, or asks for a state of the future; Retry-After says when to come again.',
} as const;

/** Every failure in both forms, by status code. */
export function failureResponses(...codes: (keyof typeof failures)[]): JsonObject {
  return Object.fromEntries(codes.map((code) => [String(code), { $ref: `#/components/responses/Failure${code}` }]));
}

/** `components` without the schemas: the same in every document. */
export const referenceComponents: Readonly<Record<'parameters' | 'responses' | 'securitySchemes', JsonObject>> = {
  parameters: referenceParameters,
  responses: Object.fromEntries(
    Object.entries(failures).map(([code, description]) => [`Failure${code}`, failure(description)]),
  ),
  securitySchemes: {
    personalToken: {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'pat_',
      description: 'A personal token: `Authorization: Bearer pat_...`.',
    },
    basic: {
      type: 'http',
      scheme: 'basic',
      description: 'User name and password. Off unless the operator has switched it on.',
    },
  },
};

export const referenceSharedSchemas = schemas;

function failure(description: string): JsonObject {
  return {
    description,
    headers: { 'X-Request-Id': { description: 'To speak of this answer by.', schema: { type: 'string' } } },
    content: {
      'application/json': { schema: reference('Status') },
      'application/problem+json': { schema: reference('Problem') },
    },
  };
}
