import { createHash } from 'node:crypto';
import { runSync, type JsonObject, type Model, type ModelVersion, type SlicedWork } from '#pkg/apimachinery/index';
import type { EndpointAudience } from '#pkg/apis/index';
import type { ServedDocument } from '../discovery/answer-document.ts';
import {
  jsonWriters,
  newFragment,
  objectPieces,
  type DocumentFragment,
  type FragmentParts,
} from './document-fragment.ts';
import { ownEndpoints, type EndpointDocument } from './endpoint-documents.ts';
import { schemaName } from './kubernetes-schema.ts';
import { referenceComponents, referenceSharedSchemas } from './reference-components.ts';
import { ReferenceOperations, tagName } from './reference-operations.ts';
import { referenceListSchema, referenceObjectSchema } from './reference-schema.ts';

/** The five documents of the reference. */
export const referenceNames = ['console', 'uc', 'extension', 'public', 'aggregated'] as const;
export type ReferenceName = (typeof referenceNames)[number];

const documentInfos: Record<
  ReferenceName,
  { title: string; description: string; audiences: readonly EndpointAudience[]; withModels: boolean }
> = {
  console: {
    title: 'Console API',
    description: 'Endpoints made for the console.',
    audiences: ['console'],
    withModels: false,
  },
  uc: {
    title: 'User-center API',
    description: 'Endpoints made for the user center.',
    audiences: ['uc'],
    withModels: false,
  },
  extension: {
    title: 'Extension API',
    description: 'The objects of all registered models: create, read, update, delete, list and watch.',
    audiences: [],
    withModels: true,
  },
  public: {
    title: 'Public API',
    description: 'Endpoints that need no authentication.',
    audiences: ['public'],
    withModels: false,
  },
  aggregated: {
    title: 'Aggregated API',
    description: 'All endpoints.',
    audiences: ['public', 'console', 'uc'],
    withModels: true,
  },
};

export function isReferenceName(name: string): name is ReferenceName {
  return Object.hasOwn(documentInfos, name);
}

/** Whether the document contains the objects of models. */
export function showsModels(name: ReferenceName): boolean {
  return documentInfos[name].withModels;
}

/** The part of one model version in the reference. */
export function* referenceParts(model: Model, version: ModelVersion): SlicedWork<FragmentParts> {
  const kind = { group: model.group, version: version.name, kind: model.names.kind };
  const object = yield* referenceObjectSchema(
    version.schema,
    `A ${kind.kind} of ${kind.group === '' ? 'the core group' : kind.group}.`,
  );
  const { description } = object;
  return {
    paths: new ReferenceOperations(model, version).paths(),
    schemas: [
      [schemaName(kind), object],
      [schemaName({ ...kind, kind: model.names.listKind }), referenceListSchema(kind, model.names.listKind)],
    ],
    tags: [{ name: tagName(kind), ...(typeof description === 'string' ? { description } : {}) }],
  };
}

export interface ReferenceInput {
  svcVersion: string;
  /** The URL of the server for clients. */
  publicUrl?: string | undefined;
  /** Of all models, or empty if the document does not contain them. */
  fragments: readonly DocumentFragment[];
  endpoints: Iterable<EndpointDocument>;
}

/** Joins existing texts to a document: no part is parsed or copied. */
export function referenceDocument(
  name: ReferenceName,
  { svcVersion, publicUrl, fragments, endpoints }: ReferenceInput,
): ServedDocument {
  const { title, description, audiences } = documentInfos[name];
  const head: JsonObject = {
    openapi: '3.1.0',
    info: { title, description, version: svcVersion },
    // The first is what tools use: it works from wherever the document was fetched, the public one perhaps not from there.
    servers: [{ url: '/' }, ...(publicUrl === undefined ? [] : [{ url: publicUrl }])],
    security: [{ personalToken: [] }, { basic: [] }],
  };
  const mounted = [ownEndpoints, ...endpoints].filter(({ audience }) => audiences.includes(audience));
  const all = [
    runSync(
      newFragment(
        {
          schemas: Object.entries(referenceSharedSchemas),
          paths: mounted.flatMap(({ paths }) => Object.entries(paths)),
        },
        jsonWriters,
      ),
    ),
    ...fragments,
  ];
  const ahead = JSON.stringify(head).slice(0, -1);
  const components = JSON.stringify(referenceComponents).slice(0, -1);
  const tags = all.flatMap((fragment) => fragment.tags);
  const hash = createHash('sha256').update(ahead).update(components);
  for (const fragment of all) hash.update(fragment.hash);
  return {
    contentType: 'application/json',
    hash: hash.digest('hex'),
    pieces: [
      `${ahead},"tags":[${tags.join(',')}],"paths":`,
      ...objectPieces(all.flatMap(({ paths }) => paths)),
      `,"components":${components},"schemas":`,
      ...objectPieces(all.flatMap(({ schemas }) => schemas)),
      '}}',
    ],
  };
}
