import { apiVersionOf, type ModelInfo } from './model-info.ts';
import { server } from './server.ts';

/** A schema as the server's OpenAPI documents have it, as much of it as the console shows. */
export interface OpenApiSchema {
  type?: string;
  format?: string;
  description?: string;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  nullable?: boolean;
  required?: string[];
  properties?: Record<string, OpenApiSchema>;
  additionalProperties?: OpenApiSchema | boolean;
  items?: OpenApiSchema;
  allOf?: OpenApiSchema[];
  $ref?: string;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
  'x-kubernetes-selectable-fields'?: { fieldPath: string }[];
}

export interface ModelSchema {
  root: OpenApiSchema;
  /** What a `$ref` names. */
  shared: Readonly<Record<string, OpenApiSchema>>;
}

/** Undefined if the document has no schema of this model. @throws StatusError */
export async function readSchema(model: ModelInfo): Promise<ModelSchema | undefined> {
  const { paths } = (await server.read('/openapi/v3')) as { paths: Record<string, { serverRelativeURL: string }> };
  const place = paths[`${model.group === '' ? 'api' : 'apis'}/${apiVersionOf(model)}`];
  if (place === undefined) return undefined;
  const { components } = (await server.read(place.serverRelativeURL)) as {
    components: { schemas: Record<string, OpenApiSchema> };
  };
  const shared = components.schemas;
  const root = Object.values(shared).find(
    (schema) =>
      schema.properties?.['items'] === undefined &&
      schema['x-kubernetes-group-version-kind']?.some(
        ({ group, version, kind }) => group === model.group && version === model.version && kind === model.kind,
      ),
  );
  return root === undefined ? undefined : { root, shared };
}

/** The schema that a reference means, with what stands next to the reference. */
export function resolved(schema: OpenApiSchema, shared: ModelSchema['shared']): OpenApiSchema {
  const { $ref, allOf = [], ...own } = schema;
  const parts = [...($ref === undefined ? [] : [{ $ref }]), ...allOf];
  return parts.reduce<OpenApiSchema>((found, part) => {
    const { $ref: reference, ...rest } = part;
    const named = reference === undefined ? {} : shared[reference.slice('#/components/schemas/'.length)];
    return { ...named, ...rest, ...found };
  }, own);
}
