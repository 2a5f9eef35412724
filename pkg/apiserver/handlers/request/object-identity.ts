import {
  apiVersionMismatch,
  formatApiVersion,
  hasTypedClients,
  isJsonObject,
  newBadRequest,
  type GroupVersionKind,
  type JsonObject,
  type ObjectKey,
} from '#pkg/apimachinery/index';
import type { ServedResource } from '../../rest/served-resource.ts';
import { servedKind } from './resource-request.ts';

/** Checks that the object's apiVersion and kind are those of the URL. @throws StatusError 400 */
export function checkTypeMeta(object: JsonObject, expected: GroupVersionKind): void {
  const { apiVersion, kind } = object;
  if (typeof kind !== 'string' || kind === '')
    throw newBadRequest("Object 'Kind' is missing in the body of the request");
  if (typeof apiVersion !== 'string' || apiVersion === '')
    throw newBadRequest("Object 'apiVersion' is missing in the body of the request");
  if (apiVersion !== formatApiVersion(expected)) throw apiVersionMismatch(shortened(apiVersion), expected);
  if (kind !== expected.kind)
    throw newBadRequest(
      `the kind in the data (${shortened(kind)}) does not match the expected kind (${expected.kind})`,
    );
}

/**
 * The same for the body of a resource. A built-in kind of Kubernetes has typed clients, which may leave both out: they
 * are set.
 * @throws StatusError 400
 */
export function checkServedKind(object: JsonObject, served: ServedResource): void {
  const kind = servedKind(served);
  if (hasTypedClients(served.model)) setMissingTypeMeta(object, kind);
  checkTypeMeta(object, kind);
}

/** Sets apiVersion and kind where they are missing, null or empty. */
export function setMissingTypeMeta(object: JsonObject, expected: GroupVersionKind): void {
  const given = { apiVersion: formatApiVersion(expected), kind: expected.kind };
  for (const [field, value] of Object.entries(given)) if ((object[field] ?? '') === '') object[field] = value;
}

/**
 * Sets the object's namespace to that of the request. '' means cluster-scoped: the object's namespace is dropped, as in
 * Kubernetes.
 * @throws StatusError 400 where the object names another namespace, or its metadata is no object.
 */
export function setNamespace(object: JsonObject, namespace: string): void {
  const metadata = metadataOf(object);
  const own = metadata['namespace'];
  if (namespace === '') delete metadata['namespace'];
  else if (own === undefined || own === null || own === '') metadata['namespace'] = namespace;
  else if (own !== namespace) {
    throw newBadRequest(
      `the namespace of the object (${shortened(own)}) does not match the namespace on the URL (${namespace})`,
    );
  }
}

/** Checks that the object of a PUT or PATCH has the name in the URL. @throws StatusError 400 */
export function checkKey(object: JsonObject, { namespace, name }: ObjectKey): void {
  const own = metadataOf(object)['name'];
  if (own === undefined || own === null || own === '')
    throw newBadRequest('name must be provided: metadata.name is missing in the body of the request');
  if (own !== name)
    throw newBadRequest(`the name of the object (${shortened(own)}) does not match the name on the URL (${name})`);
  setNamespace(object, namespace);
}

function metadataOf(object: JsonObject): JsonObject {
  const metadata = object['metadata'] ?? {};
  if (!isJsonObject(metadata)) throw newBadRequest('metadata must be an object');
  return metadata;
}

/**
 * Removes the resourceVersion that a patched object inherited from the current one: only a revision that the patch
 * itself names is a precondition. A patch that names the current revision needs no check now; after a write in between,
 * its revision differs and is checked.
 */
export function dropInheritedRevision(patched: JsonObject, current: JsonObject): void {
  const { metadata } = patched;
  const present = isJsonObject(current['metadata']) ? current['metadata']['resourceVersion'] : undefined;
  if (isJsonObject(metadata) && metadata['resourceVersion'] === present) delete metadata['resourceVersion'];
}

/** Shortens client text for an error message: the text may be megabytes. */
function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length <= 253 ? text : `${text.slice(0, 250).replaceAll(/\p{Surrogate}/gu, '')}...`;
}
