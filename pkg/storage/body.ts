import { encodeJson, type ApiObject, type JsonObject } from '#pkg/apimachinery/index';

const metadataStart = '"metadata":{';

/**
 * The stored text of an object: apiVersion, kind, metadata first, and no resourceVersion,
 * so that a reader can put the revision in without parsing.
 */
export function encodeStoredBody(object: ApiObject): string {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, ...kept } = metadata;
  return encodeJson({ apiVersion, kind, metadata: kept, ...rest });
}

/** The text that clients read: the stored one with its resourceVersion. */
export function withRevision(body: string, revision: number): string {
  const at = body.indexOf(metadataStart) + metadataStart.length;
  const separator = body.charCodeAt(at) === 0x7d ? '' : ',';
  return `${body.slice(0, at)}"resourceVersion":"${revision}"${separator}${body.slice(at)}`;
}

/** The object with its resourceVersion. */
export function decodeBody(body: string, revision: number): ApiObject & JsonObject {
  const object = JSON.parse(body) as ApiObject & JsonObject;
  object.metadata.resourceVersion = String(revision);
  return object;
}
