import { createHash } from 'node:crypto';
import { runSync, type JsonObject, type Model, type ModelVersion, type SlicedWork } from '#pkg/apimachinery/index';
import type { ServedDocument } from '../discovery/answer-document.ts';
import { fieldHead } from '../protobuf/message-writer.ts';
import {
  jsonWriters,
  newFragment,
  objectPieces,
  type DocumentFragment,
  type FragmentParts,
  type PieceWriters,
} from './document-fragment.ts';
import { kubernetesParts } from './kubernetes-document.ts';
import { kubernetesSharedSchemas } from './kubernetes-shared-schemas.ts';
import { swaggerPathItem } from './swagger-paths.ts';
import { definitionEntry, documentFields, infoMessage, pathEntry } from './swagger-protobuf.ts';
import { openSwaggerSchema, swaggerSchema } from './swagger-schema.ts';

/** The name that the answer has; clients ask for it, or for an older one. */
export const swaggerProtobufType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

export const protobufWriters: PieceWriters<Buffer> = {
  path: pathEntry,
  schema: definitionEntry,
  tag: () => Buffer.alloc(0),
};

const title = 'svc';
const sharedParts: FragmentParts = {
  paths: [],
  schemas: Object.entries(kubernetesSharedSchemas).map(([name, schema]) => [name, runSync(swaggerSchema(schema))]),
};
const sharedJson = runSync(newFragment(sharedParts, jsonWriters));
const sharedProtobuf = runSync(newFragment(sharedParts, protobufWriters));

/** The part of one model version in the document: what OpenAPI 3.0 has, in Swagger 2.0. */
export function* swaggerParts(model: Model, version: ModelVersion): SlicedWork<FragmentParts> {
  const { paths, schemas } = yield* kubernetesParts(model, version);
  const [[name, schema], list] = [...schemas] as [[string, JsonObject], [string, JsonObject]];
  const isOpen = version.schema['x-kubernetes-preserve-unknown-fields'] === true;
  return {
    paths: [...paths].map(([path, item]) => [path, swaggerPathItem(item)]),
    schemas: [
      [name, isOpen ? openSwaggerSchema(schema) : yield* swaggerSchema(schema)],
      [list[0], yield* swaggerSchema(list[1])],
    ],
  };
}

export function swaggerJson(svcVersion: string, fragments: readonly DocumentFragment[]): ServedDocument {
  const head = JSON.stringify({ swagger: '2.0', info: { title, version: svcVersion } }).slice(0, -1);
  const all = [...fragments, sharedJson];
  return {
    contentType: 'application/json',
    hash: hashOf(head, all),
    pieces: [
      `${head},"paths":`,
      ...objectPieces(all.flatMap(({ paths }) => paths)),
      ',"definitions":',
      ...objectPieces(all.flatMap(({ schemas }) => schemas)),
      '}',
    ],
  };
}

/** The same as `openapi.v2.Document`. */
export function swaggerProtobuf(svcVersion: string, fragments: readonly DocumentFragment<Buffer>[]): ServedDocument {
  const all = [...fragments, sharedProtobuf];
  const info = infoMessage(title, svcVersion);
  const head = Buffer.concat([
    ...fieldPieces(documentFields.swagger, [Buffer.from('2.0')]),
    ...fieldPieces(documentFields.info, [info]),
  ]);
  return {
    contentType: swaggerProtobufType,
    hash: hashOf(head, all),
    pieces: [
      head,
      ...fieldPieces(documentFields.paths, distinct(all.flatMap(({ paths }) => paths))),
      ...fieldPieces(documentFields.definitions, distinct(all.flatMap(({ schemas }) => schemas))),
    ],
  };
}

function fieldPieces(number: number, pieces: readonly Buffer[]): Buffer[] {
  return [
    fieldHead(
      number,
      pieces.reduce((length, piece) => length + piece.length, 0),
    ),
    ...pieces,
  ];
}

/** Of two entries with one name the later wins, as in JSON. */
function distinct(entries: readonly (readonly [string, Buffer])[]): Buffer[] {
  return [...new Map(entries).values()];
}

function hashOf(head: string | Buffer, fragments: readonly DocumentFragment<string | Buffer>[]): string {
  const hash = createHash('sha256').update(head);
  for (const fragment of fragments) hash.update(fragment.hash);
  return hash.digest('hex').toUpperCase();
}
