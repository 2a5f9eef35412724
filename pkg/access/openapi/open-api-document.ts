import { STATUS_CODES } from 'node:http';
import type { TObject, TSchema } from 'typebox';
import type { JsonObject } from '#pkg/apimachinery/index';
import type { Operation, OperationDocument } from '../operations/operation.ts';
import {
  jsonContent,
  parameterReference,
  responseReference,
  securitySchemes,
  sharedParameters,
  sharedResponses,
  sharedSchemas,
} from './shared-components.ts';

/** Error responses of operations that do not declare their own. */
const refusals: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  413: 'TooLarge',
  415: 'UnsupportedMediaType',
  429: 'Throttled',
};

type Documented = Operation & { readonly document: OperationDocument };

const about = `Users, organizations, and the credentials with which programs and people come in.

- Every path is served with and without the slash at its end.
- Times are RFC 3339 in UTC.
- A list is a bare array of all there is, or, with \`limit\`, one page of it: \`{count, next, previous, results}\`.
- What is read or written belongs to an organization where the operation takes \`X-SVC-ORG\`.`;

export interface OpenApiDocumentOptions {
  svcVersion: string;
  /** Public URL of the service. */
  publicUrl?: string | undefined;
}

/** Describes the documented operations in OpenAPI 3.1. */
export function openApiDocument(
  operations: readonly Operation[],
  { svcVersion, publicUrl }: OpenApiDocumentOptions,
): JsonObject {
  const documented = operations.filter((operation): operation is Documented => operation.document !== undefined);
  const paths: Record<string, JsonObject> = {};
  for (const operation of documented)
    paths[operation.path] = { ...paths[operation.path], [operation.method.toLowerCase()]: describe(operation) };
  return {
    openapi: '3.1.0',
    info: { title: 'Access management', description: about, version: svcVersion },
    // The first is what tools use: it works from wherever the document was fetched, the public one perhaps not from there.
    servers: [{ url: '/' }, ...(publicUrl === undefined ? [] : [{ url: publicUrl }])],
    security: Object.keys(securitySchemes).map((name) => ({ [name]: [] })),
    tags: [...new Set(documented.map(({ document }) => document.tag))].map((name) => ({ name })),
    paths,
    components: { securitySchemes, schemas: sharedSchemas, responses: sharedResponses, parameters: sharedParameters },
  };
}

function describe(operation: Documented): JsonObject {
  const { operationId, access, document } = operation;
  const { summary, description, tag, body } = document;
  return {
    operationId,
    // Some summaries end with a full stop.
    summary: summary.replace(/\.$/, ''),
    ...(description === undefined ? {} : { description }),
    tags: [tag],
    ...(access === 'open' ? { security: [] } : {}),
    parameters: parametersOf(operation),
    ...(body === undefined ? {} : { requestBody: { required: true, content: bodyContent(body) } }),
    responses: responsesOf(operation),
  };
}

function parametersOf({ method, path, access, document }: Documented): JsonObject[] {
  const { query, inOrganization = false } = document;
  const inPath = pathParameters(path).map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } }));
  const inQuery = Object.entries(query?.properties ?? {}).flatMap(([name, property]) => {
    const { description, ...schema } = schemaOf(property);
    return 'not' in schema ? [] : [{ name, in: 'query', description: description!, schema }];
  });
  return [
    ...inPath,
    ...inQuery,
    ...(inOrganization ? [parameterReference('Organization'), parameterReference('OrganizationId')] : []),
    ...(access === 'user' && method !== 'GET' ? [parameterReference('CsrfToken')] : []),
  ];
}

/** The schema as JSON, without the rules that only `CheckedFields` reads. */
function schemaOf(schema: TSchema): JsonObject {
  return JSON.parse(
    JSON.stringify(schema, (name, value: unknown) => (name === 'refusal' || name === 'isStrict' ? undefined : value)),
  ) as JsonObject;
}

function pathParameters(path: string): string[] {
  return Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1]!);
}

/** A form can only send texts and flags: the form type is listed if the body has nothing else. */
function bodyContent(body: TObject): JsonObject {
  const schema = schemaOf(body);
  const isForm = Object.values(body.properties as Record<string, { type?: unknown }>).every(
    ({ type }) => type === 'string' || type === 'boolean',
  );
  return {
    ...jsonContent(schema),
    ...(isForm ? { 'application/x-www-form-urlencoded': { schema }, 'multipart/form-data': { schema } } : {}),
  };
}

function responsesOf({ access, path, document }: Documented): JsonObject {
  const { query, body, inOrganization = false, answers } = document;
  const applies: Readonly<Record<number, boolean>> = {
    400: body !== undefined || query !== undefined || inOrganization,
    401: true,
    403: access === 'user',
    404: pathParameters(path).length > 0 || inOrganization,
    413: body !== undefined,
    415: body !== undefined,
    429: true,
  };
  const added = Object.keys(applies)
    .filter((status) => applies[Number(status)])
    .map((status) => [status, responseOf(status, null)]);
  const own = Object.entries(answers).map(([status, schema]) => [status, responseOf(status, schema)]);
  // The operation's own answers take precedence.
  return {
    ...Object.fromEntries(added),
    ...Object.fromEntries(own),
    default: responseReference('Failure'),
  } as JsonObject;
}

function responseOf(status: string, schema: TSchema | null): JsonObject {
  const refusal = refusals[Number(status)];
  if (schema === null && refusal !== undefined) return responseReference(refusal);
  return {
    description: STATUS_CODES[status] ?? status,
    ...(schema === null ? {} : { content: jsonContent(schemaOf(schema)) }),
  };
}
