import { definitionsVersion } from './discovery.ts';
import { apiVersionOf, type ModelInfo } from './model-info.ts';
import type { ModelSchema, OpenApiSchema } from './open-api-schema.ts';
import { server } from './server.ts';

interface SchemaDocument {
  components: { schemas: Record<string, OpenApiSchema> };
}

/** Where the document of each group and version is. */
interface DocumentIndex {
  paths: Record<string, { serverRelativeURL: string }>;
}

interface ReadIndex {
  version: number;
  readAt: number;
  answer: Promise<DocumentIndex>;
}

let lastIndex: ReadIndex | undefined;
/** Who may not watch definitions hears of no change, and a replica may have been behind. Milliseconds. */
const maxIndexAgeMs = 60_000;

/** Read again when definitions have changed. @throws StatusError */
function readIndex(): Promise<DocumentIndex> {
  const version = definitionsVersion.get();
  if (lastIndex?.version === version && Date.now() - lastIndex.readAt < maxIndexAgeMs) return lastIndex.answer;
  const answer = server.read('/openapi/v3') as Promise<DocumentIndex>;
  const index = { version, readAt: Date.now(), answer };
  lastIndex = index;
  void answer.catch(() => {
    if (lastIndex === index) lastIndex = undefined;
  });
  return answer;
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
  const { paths } = await readIndex();
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
