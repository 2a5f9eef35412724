import {
  isJsonObject,
  type GroupVersionKind,
  type JsonObject,
  type JsonSchema,
  type JsonValue,
  type ListMergeKeys,
  type ModelVersion,
  type SlicedWork,
} from '#pkg/apimachinery/index';
import { toOpenApiSchema, withObjectFields } from './to-open-api-schema.ts';

const extensions = [
  'nullable',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const satisfies readonly (keyof JsonSchema)[];

/**
 * Kubernetes clients look for these names. A model's schema can have one of them only in a group named for it; the
 * shared schema then wins.
 */
export const objectMetaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
export const listMetaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';
export const ownerReferenceName = 'io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference';
export const managedFieldsName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry';
export const deleteOptionsName = 'io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions';
export const statusName = 'io.k8s.apimachinery.pkg.apis.meta.v1.Status';
export const tableName = 'io.k8s.apimachinery.pkg.apis.meta.v1.Table';
export const scaleName = 'io.k8s.api.autoscaling.v1.Scale';

/** `com.example.blog.v1.Post`: the last two parts are version and kind, so that no two kinds share a name. */
export function schemaName({ group, version, kind }: GroupVersionKind): string {
  const domain = group === '' ? 'io.k8s.api.core' : group.split('.').toReversed().join('.');
  return `${domain}.${version}.${kind}`;
}

/** A model's schema as Kubernetes publishes it: OpenAPI 3.0 with its extensions. */
export function* kubernetesObjectSchema(
  { schema, selectableFields }: ModelVersion,
  kind: GroupVersionKind,
  listMergeKeys: ListMergeKeys = {},
): SlicedWork<JsonObject> {
  const published = withObjectFields(yield* toOpenApiSchema(schema, kubernetesNode), metadata);
  for (const [path, mergeKey] of Object.entries(listMergeKeys)) markMergedList(published, path.split('.'), mergeKey);
  return {
    ...published,
    'x-kubernetes-group-version-kind': [{ ...kind }],
    ...(selectableFields.length === 0
      ? {}
      : { 'x-kubernetes-selectable-fields': selectableFields.map((path) => ({ fieldPath: path.replace(/^\./, '') })) }),
  };
}

export function kubernetesListSchema(item: GroupVersionKind, listKind: string): JsonObject {
  return {
    type: 'object',
    description: `A list of ${item.kind}.`,
    required: ['items'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { allOf: [reference(listMetaName)] },
      items: { type: 'array', items: { allOf: [reference(schemaName(item))] } },
    },
    'x-kubernetes-group-version-kind': [{ ...item, kind: listKind }],
  };
}

export function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}

/** Tells clients that create a strategic merge patch how the server merges a list; a field of a shared schema tells it. */
function markMergedList(schema: JsonObject, path: readonly string[], mergeKey: string): void {
  let place: JsonValue | undefined = schema;
  for (const name of path) {
    const properties: JsonValue | undefined = isJsonObject(place) ? place['properties'] : undefined;
    place = isJsonObject(properties) ? properties[name] : undefined;
  }
  if (!isJsonObject(place)) return;
  place['x-kubernetes-patch-strategy'] = 'merge';
  if (mergeKey !== '') place['x-kubernetes-patch-merge-key'] = mergeKey;
}

function kubernetesNode(source: JsonSchema, common: JsonObject): JsonObject {
  for (const keyword of extensions) {
    const value: JsonValue | undefined = source[keyword] as JsonValue | undefined;
    if (value !== undefined && value !== null && value !== false) common[keyword] = value;
  }
  return source['x-kubernetes-embedded-resource'] === true ? withObjectFields(common, metadata) : common;
}

/** Only the reference: `kubectl explain` follows no other form. */
function metadata(): JsonObject {
  return { allOf: [reference(objectMetaName)] };
}
