import { apiVersionOf, type ModelInfo } from './model-info.ts';
import type { ModelSchema, OpenApiSchema } from './open-api-schema.ts';
import { server } from './server.ts';

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
