import { createHash } from 'node:crypto';
import { runSync, type GroupVersion, type Model, type ModelVersion, type SlicedWork } from '#pkg/apimachinery/index';
import type { ServedDocument } from '../discovery/answer-document.ts';
import {
  jsonWriters,
  newFragment,
  objectPieces,
  type DocumentFragment,
  type FragmentParts,
} from './document-fragment.ts';
import { kubernetesPaths } from './kubernetes-paths.ts';
import { kubernetesListSchema, kubernetesObjectSchema, schemaName } from './kubernetes-schema.ts';
import { kubernetesSharedSchemas } from './kubernetes-shared-schemas.ts';

const shared = runSync(newFragment({ paths: [], schemas: Object.entries(kubernetesSharedSchemas) }, jsonWriters));

/** The path of a version's document below `/openapi/v3/`: `apis/blog.example.com/v1`, or `api/v1`. */
export function kubernetesDocumentPath({ group, version }: GroupVersion): string {
  return group === '' ? `api/${version}` : `apis/${group}/${version}`;
}

/** The part of one model version in the document of its group and version. */
export function* kubernetesParts(model: Model, version: ModelVersion): SlicedWork<FragmentParts> {
  const kind = { group: model.group, version: version.name, kind: model.names.kind };
  return {
    paths: kubernetesPaths(model, version),
    schemas: [
      [schemaName(kind), yield* kubernetesObjectSchema(version, kind, model.listMergeKeys)],
      [schemaName({ ...kind, kind: model.names.listKind }), kubernetesListSchema(kind, model.names.listKind)],
    ],
  };
}

/** The document of one group and version, OpenAPI 3.0. */
export function kubernetesDocument(svcVersion: string, fragments: readonly DocumentFragment[]): ServedDocument {
  const head = JSON.stringify({ openapi: '3.0.0', info: { title: 'svc', version: svcVersion } }).slice(0, -1);
  const hash = createHash('sha256').update(head);
  for (const fragment of [...fragments, shared]) hash.update(fragment.hash);
  return {
    contentType: 'application/json',
    hash: hash.digest('hex').toUpperCase(),
    pieces: [
      `${head},"paths":`,
      ...objectPieces(fragments.flatMap(({ paths }) => paths)),
      ',"components":{"schemas":',
      ...objectPieces([...fragments, shared].flatMap(({ schemas }) => schemas)),
      '}}',
    ],
  };
}
