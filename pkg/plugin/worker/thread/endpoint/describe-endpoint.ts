import type { TSchema } from 'typebox';
import type { PluginEndpoint } from '#pkg/apis/index';
import type { EndpointDefinition } from '../../../definition/endpoint-definition.ts';
import { describedSchema } from './plain-schema.ts';

const schemaFields = ['params', 'query', 'body', 'response'] as const;

/**
 * An endpoint as API servers know it. @throws TypeError that names the endpoint, for schemas that cannot be described
 * and parameters that its path does not have
 */
export function describeEndpoint(definition: EndpointDefinition): PluginEndpoint {
  const {
    audience,
    group,
    version,
    method,
    path,
    operationId = operationIdOf(method, path),
    summary,
    description,
    params,
    body,
  } = definition;
  const where = `the endpoint ${method} ${path}`;
  if (method === 'GET' && body !== undefined) throw new TypeError(`${where} has a body: a GET has none`);
  const unknown = Object.keys(params?.properties ?? {}).find((name) => !path.includes(`{${name}}`));
  if (unknown !== undefined)
    throw new TypeError(`${where} has a schema for the parameter ${unknown}, which is not in its path`);
  const schemas = schemaFields.flatMap((field) => {
    const schema: TSchema | undefined = definition[field];
    return schema === undefined ? [] : [[field, describedSchema(schema, `${where}: ${field}`)]];
  });
  return {
    audience,
    group,
    version,
    method,
    path,
    operationId,
    ...(summary === undefined ? {} : { summary }),
    ...(description === undefined ? {} : { description }),
    ...(Object.fromEntries(schemas) as Pick<PluginEndpoint, (typeof schemaFields)[number]>),
  };
}

/** `PUT /posts/{name}/publication` is `putPostsByNamePublication`. */
export function operationIdOf(method: string, path: string): string {
  const words = path.split('/').map((segment) => (segment.startsWith('{') ? `By-${segment}` : segment));
  const parts = words
    .join('-')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '');
  return method.toLowerCase() + parts.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('');
}
