import { apiVersionOf, type ModelInfo } from './model-info.ts';
import type { ModelSchema, OpenApiSchema } from './open-api-schema.ts';
import { server } from './server.ts';

interface SchemaDocument {
  components: { schemas: Record<string, OpenApiSchema> };
}

/** By an address that has a hash of the content. */
const documents = new Map<string, Promise<SchemaDocument>>();
const maxDocuments = 16;

/** The same schemas for the same address: what was made of them need not be made again. @throws StatusError */
function readDocument(address: string): Promise<SchemaDocument> {
  const known = documents.get(address);
  if (known !== undefined) return known;
  const read = server.read(address) as Promise<SchemaDocument>;
  documents.set(address, read);
  void read.catch(() => documents.delete(address));
  for (const oldest of [...documents.keys()].slice(0, -maxDocuments)) documents.delete(oldest);
  return read;
}

/** Undefined if the document has no schema of this model. @throws StatusError */
export async function readSchema(model: ModelInfo): Promise<ModelSchema | undefined> {
  const { paths } = (await server.read('/openapi/v3')) as { paths: Record<string, { serverRelativeURL: string }> };
  const place = paths[`${model.group === '' ? 'api' : 'apis'}/${apiVersionOf(model)}`];
  if (place === undefined) return undefined;
  const { components } = await readDocument(place.serverRelativeURL);
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
