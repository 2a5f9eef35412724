import {
  apiVersionMismatch,
  formatApiVersion,
  isJsonObject,
  newBadRequest,
  type GroupVersionKind,
  type JsonObject,
  type ObjectKey,
} from '#pkg/apimachinery/index';

/** Are the object's apiVersion and kind those of the URL? @throws StatusError 400 */
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
 * Makes the object's namespace that of the request, '' for a cluster-scoped one, whose namespace is dropped as
 * Kubernetes does.
 * @throws StatusError 400 where the object names another one, or its metadata is no object.
 */
export function settleNamespace(object: JsonObject, namespace: string): void {
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

/** Does the object of a PUT or PATCH bear the name on the URL? @throws StatusError 400 */
export function checkKey(object: JsonObject, { namespace, name }: ObjectKey): void {
  const own = metadataOf(object)['name'];
  if (own === undefined || own === null || own === '')
    throw newBadRequest('name must be provided: metadata.name is missing in the body of the request');
  if (own !== name)
    throw newBadRequest(`the name of the object (${shortened(own)}) does not match the name on the URL (${name})`);
  settleNamespace(object, namespace);
}

function metadataOf(object: JsonObject): JsonObject {
  const metadata = object['metadata'] ?? {};
  if (!isJsonObject(metadata)) throw newBadRequest('metadata must be an object');
  return metadata;
}

/**
 * Takes from a patched object the resourceVersion it got from the present one: only a revision that the patch itself
 * names is a precondition. One that it names and that is the present one needs no check now, and is another's after a
 * write that came between.
 */
export function releaseRevision(patched: JsonObject, current: JsonObject): void {
  const { metadata } = patched;
  const present = isJsonObject(current['metadata']) ? current['metadata']['resourceVersion'] : undefined;
  if (isJsonObject(metadata) && metadata['resourceVersion'] === present) delete metadata['resourceVersion'];
}

/** Client text is echoed shortened: it may be megabytes. */
function shortened(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return text.length <= 253 ? text : `${text.slice(0, 250).replaceAll(/\p{Surrogate}/gu, '')}...`;
}
