import type { JsonObject } from '#pkg/apimachinery/index';
import { tokenGroup, tokenKind, tokenResource, tokenVersion } from './personal-token.ts';

const apiVersion = `${tokenGroup}/${tokenVersion}`;
const text: JsonObject = { type: 'string' };
const time: JsonObject = { type: 'string', format: 'date-time' };

/** Properties of the spec that clients set. */
const writable: JsonObject = {
  displayName: { ...text, maxLength: 253, description: 'What it is for.' },
  expiresAt: { ...time, description: 'In the future; absent: never.' },
  roles: {
    type: 'array',
    maxItems: 64,
    uniqueItems: true,
    items: text,
    description:
      'ClusterRoles of yours. The token can do what one of them allows, and you may, wherever you may; absent: all that you may, or the credential that makes it. Empty: it finds out what there is, and no more.',
  },
};

const draft: JsonObject = {
  type: 'object',
  properties: {
    apiVersion: { const: apiVersion },
    kind: { const: tokenKind.kind },
    metadata: {
      type: 'object',
      properties: {
        name: { ...text, maxLength: 253, description: 'Unique among your tokens; absent: the server makes one.' },
        generateName: { ...text, default: 'pat-', description: 'What a made name begins with.' },
      },
    },
    spec: { type: 'object', properties: writable },
  },
};

const object: JsonObject = {
  type: 'object',
  required: ['apiVersion', 'kind', 'metadata', 'spec', 'status'],
  properties: {
    apiVersion: { const: apiVersion },
    kind: { const: tokenKind.kind },
    metadata: {
      type: 'object',
      required: ['name', 'uid', 'creationTimestamp'],
      properties: { name: text, uid: text, creationTimestamp: time },
    },
    spec: { type: 'object', required: ['revoked'], properties: { ...writable, revoked: { type: 'boolean' } } },
    status: {
      type: 'object',
      required: ['expired'],
      properties: {
        expired: { type: 'boolean' },
        lastUsed: { ...time, description: 'To the minute.' },
        revokedAt: time,
        token: {
          ...text,
          pattern: '^pat_[0-9A-Za-z]{36}$',
          description: 'In the answer to its creation, and never again.',
        },
      },
    },
  },
};

const listOfObjects: JsonObject = {
  type: 'object',
  required: ['apiVersion', 'kind', 'metadata', 'items'],
  properties: {
    apiVersion: { const: apiVersion },
    kind: { const: `${tokenKind.kind}List` },
    metadata: { type: 'object' },
    items: { type: 'array', items: object },
  },
};

const collection = `/apis/${apiVersion}/${tokenResource.resource}`;
const path = `${collection}/{name}`;

/**
 * Personal tokens in the API reference of the user center: OpenAPI 3.1 path items that refer to components of the
 * platform's reference.
 */
export const personalTokenDocument: { readonly audience: 'uc'; readonly paths: Readonly<Record<string, JsonObject>> } =
  {
    audience: 'uc',
    paths: {
      [collection]: {
        get: operation('list', 'List your personal tokens, by name', { responses: ok(listOfObjects) }),
        post: operation('create', 'Create a personal token', {
          description: 'The answer holds the token, once. `Idempotency-Key` is refused; you may have 100 tokens.',
          body: draft,
          responses: { '201': json('The token.', object), ...failures(400, 409, 413, 415, 422) },
        }),
      },
      [path]: {
        get: operation('get', 'Get a personal token of yours', {
          isNamed: true,
          responses: { ...ok(object), ...failures(404) },
        }),
        delete: operation('delete', 'Delete a personal token of yours', {
          isNamed: true,
          responses: { ...ok({ $ref: '#/components/schemas/Status' }), ...failures(400, 404) },
        }),
      },
      [`${path}/actions/revocation`]: {
        put: operation('revoke', 'Revoke a personal token of yours', {
          isNamed: true,
          description: 'It is refused from the next request on, on every replica.',
          responses: { ...ok(object), ...failures(400, 404) },
        }),
      },
      [`${path}/actions/restoration`]: {
        put: operation('restore', 'Restore a revoked personal token of yours', {
          isNamed: true,
          description: 'Unless it has expired, it is good again.',
          responses: { ...ok(object), ...failures(400, 404) },
        }),
      },
    },
  };

interface OperationText {
  /** Has the path a token's name? */
  isNamed?: boolean;
  description?: string;
  body?: JsonObject;
  responses: JsonObject;
}

/** Unique: operation ids of models have no dot, those of plugins no capital before it. */
function operation(
  id: string,
  summary: string,
  { isNamed = false, description, body, responses }: OperationText,
): JsonObject {
  return {
    operationId: `personalTokens.${id}`,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [apiVersion],
    parameters: isNamed ? [{ $ref: '#/components/parameters/name' }] : [],
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: body }, 'application/yaml': { schema: body } },
          },
        }),
    responses: { ...responses, ...failures(401, 403, 429, 503) },
  };
}

function ok(schema: JsonObject): JsonObject {
  return { '200': json('Done.', schema) };
}

function json(description: string, schema: JsonObject): JsonObject {
  return { description, content: { 'application/json': { schema } } };
}

function failures(...codes: readonly number[]): JsonObject {
  return Object.fromEntries(codes.map((code) => [String(code), { $ref: `#/components/responses/Failure${code}` }]));
}
