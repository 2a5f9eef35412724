import type { JsonObject } from '#pkg/apimachinery/index';
import type { EndpointDocument } from '../openapi/endpoint-documents.ts';
import { auditPath } from './audit-endpoint.ts';

const text: JsonObject = { type: 'string' };
const time: JsonObject = { type: 'string', format: 'date-time' };

const user: JsonObject = {
  type: 'object',
  required: ['username'],
  properties: {
    username: text,
    uid: text,
    groups: { type: 'array', items: text },
    extra: { type: 'object', additionalProperties: { type: 'array', items: text } },
  },
};

const parameters: Readonly<Record<string, { description: string; schema: JsonObject }>> = {
  user: { description: 'Of this user.', schema: text },
  verb: { description: 'Of this verb: `create`, `patch`, `deletecollection`.', schema: text },
  resource: { description: 'Of this type: `namespaces`, `posts.blog.example.com`.', schema: text },
  namespace: { description: 'Of objects in this namespace; empty: of objects in none.', schema: text },
  name: { description: 'Of objects of this name.', schema: text },
  code: { description: 'With this status of the answer.', schema: { type: 'integer', minimum: 0, maximum: 599 } },
  auditID: { description: "Of this request: the answer's Audit-Id.", schema: text },
  from: { description: 'From this time on.', schema: time },
  to: { description: 'Before this time.', schema: time },
  limit: {
    description: 'At most so many; a page may have fewer though more follow.',
    schema: { type: 'integer', minimum: 1, maximum: 250, default: 100 },
  },
  continue: { description: 'The `metadata.continue` of the page before.', schema: text },
};

const list: JsonObject = {
  type: 'object',
  required: ['kind', 'apiVersion', 'metadata', 'items'],
  properties: {
    kind: { const: 'EventList' },
    apiVersion: { const: 'audit.k8s.io/v1' },
    metadata: { type: 'object', properties: { continue: text } },
    items: {
      type: 'array',
      description: 'The newest first. Source: audit.k8s.io/v1 Event.',
      items: {
        type: 'object',
        required: ['kind', 'apiVersion', 'level', 'auditID', 'stage', 'verb', 'user'],
        properties: {
          kind: { const: 'Event' },
          apiVersion: { const: 'audit.k8s.io/v1' },
          level: { enum: ['Metadata', 'Request', 'RequestResponse'] },
          auditID: text,
          stage: { enum: ['ResponseStarted', 'ResponseComplete'] },
          requestURI: text,
          verb: text,
          user,
          impersonatedUser: user,
          sourceIPs: { type: 'array', items: text },
          userAgent: text,
          objectRef: { type: 'object' },
          responseStatus: { type: 'object' },
          requestObject: {},
          responseObject: {},
          requestReceivedTimestamp: time,
          stageTimestamp: time,
          annotations: { type: 'object', additionalProperties: text },
        },
      },
    },
  },
};

/** The audit log in the API reference. */
export const auditDocument: EndpointDocument = {
  audience: 'console',
  paths: {
    [auditPath]: {
      get: {
        operationId: 'auditEvents.list',
        summary: 'List the events of the audit log',
        tags: ['audit.k8s.io/v1'],
        parameters: Object.entries(parameters).map(([name, parameter]) => ({ name, in: 'query', ...parameter })),
        responses: {
          '200': { description: 'The events.', content: { 'application/json': { schema: list } } },
          '400': { $ref: '#/components/responses/Failure400' },
          '401': { $ref: '#/components/responses/Failure401' },
          '403': { $ref: '#/components/responses/Failure403' },
          '429': { $ref: '#/components/responses/Failure429' },
        },
      },
    },
  },
};
