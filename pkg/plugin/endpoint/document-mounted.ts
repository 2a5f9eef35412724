import { isJsonObject, type JsonObject, type JsonSchema, type JsonValue } from '#pkg/apimachinery/index';
import type { EndpointAudience, PluginEndpoint } from '#pkg/apis/index';
import type { PathEndpoints, EndpointTable, MountedEndpoint } from './endpoint-tree.ts';

/** The mounted endpoints of one audience as OpenAPI 3.1, in the shape that the API server's reference takes. */
export interface MountedDocument {
  readonly audience: EndpointAudience;
  readonly paths: Readonly<Record<string, JsonObject>>;
}

/** The endpoints of a table as path items, by audience; prefixes that are not `isShown` are omitted. */
export function documentMounted(
  table: EndpointTable,
  isShown: (place: PathEndpoints) => boolean = () => true,
): MountedDocument[] {
  const paths: Record<EndpointAudience, [string, JsonObject][]> = { console: [], uc: [], public: [] };
  for (const { places } of table.trees.values())
    for (const place of places.filter(isShown)) paths[audienceOf(place)].push([place.path, pathItem(place)]);
  return (['console', 'uc', 'public'] as const)
    .filter((audience) => paths[audience].length > 0)
    .map((audience) => ({ audience, paths: Object.fromEntries(paths[audience]) }));
}

/** A prefix belongs to one audience. */
function audienceOf({ byMethod }: PathEndpoints): EndpointAudience {
  return [...byMethod.values()][0]!.endpoint.audience;
}

function pathItem(place: PathEndpoints): JsonObject {
  return Object.fromEntries(
    [...place.byMethod].map(([method, mounted]) => [method.toLowerCase(), operation(place, mounted)]),
  );
}

function operation(place: PathEndpoints, { plugin, endpoint }: MountedEndpoint): JsonObject {
  const { audience, group, version, operationId, summary, description, body } = endpoint;
  const parameters = [...pathParameters(place, endpoint), ...queryParameters(endpoint)];
  return {
    // Unique: operation IDs of models have no dot, and plugin names have none either.
    operationId: `${plugin}.${operationId}`,
    ...(summary === undefined ? {} : { summary }),
    ...(description === undefined ? {} : { description }),
    tags: [`${group}/${version}`],
    ...(audience === 'public' ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : { requestBody: { required: true, content: { 'application/json': { schema: embedded(body) } } } }),
    responses: { ...success(endpoint), ...failures(endpoint) },
  };
}

function pathParameters({ segments }: PathEndpoints, { params }: PluginEndpoint): JsonObject[] {
  return segments.flatMap((segment) => {
    if (!('parameter' in segment)) return [];
    const schema = propertiesOf(params).get(segment.parameter);
    return [{ name: segment.parameter, in: 'path', required: true, ...parameterSchema(schema ?? { type: 'string' }) }];
  });
}

function queryParameters({ query }: PluginEndpoint): JsonObject[] {
  const required: readonly unknown[] = Array.isArray(query?.required) ? query.required : [];
  return [...propertiesOf(query)].map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    ...parameterSchema(schema),
  }));
}

function propertiesOf(schema: JsonSchema | undefined): Map<string, JsonObject> {
  const properties: unknown = schema?.properties;
  return new Map(
    isJsonObject(properties) ? Object.entries(properties).map(([name, property]) => [name, embedded(property)]) : [],
  );
}

function parameterSchema(schema: JsonObject): JsonObject {
  const { description } = schema;
  return { ...(typeof description === 'string' ? { description } : {}), schema };
}

function success({ response }: PluginEndpoint): JsonObject {
  if (response === undefined) return { '2XX': { description: 'Done.' } };
  return { '200': { description: 'The answer.', content: { 'application/json': { schema: embedded(response) } } } };
}

function failures({ audience, params, query, body }: PluginEndpoint): JsonObject {
  const isChecked = params !== undefined || query !== undefined || body !== undefined;
  const codes = [
    400,
    401,
    ...(audience === 'public' ? [] : [403]),
    404,
    ...(body === undefined ? [] : [413, 415]),
    ...(isChecked ? [422] : []),
    429,
    503,
    504,
  ];
  return Object.fromEntries(codes.map((code) => [String(code), { $ref: `#/components/responses/Failure${code}` }]));
}

const maxDepth = 100;
/** Keywords that refer to or from the root of a document: inside another document they would find something else. */
const placeBound: ReadonlySet<string> = new Set([
  '$ref',
  '$id',
  '$anchor',
  '$schema',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
]);

/** A schema as a part of the document; if it refers to parts of itself, a schema that allows any value. */
function embedded(schema: unknown): JsonObject {
  return isJsonObject(schema) && !isPlaceBound(schema, 0) ? schema : {};
}

function isPlaceBound(value: JsonValue, depth: number): boolean {
  if (depth > maxDepth) return true;
  if (Array.isArray(value)) return value.some((item) => isPlaceBound(item, depth + 1));
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, item]) => placeBound.has(name) || isPlaceBound(item, depth + 1));
}
