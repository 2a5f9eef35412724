import { encodeJson, type ApiObject, type JsonObject } from '#pkg/apimachinery/index';

const metadataStart = '"metadata":{';

/**
 * The stored text of an object: apiVersion, kind, metadata first, and neither resourceVersion nor managedFields,
 * so that a reader can put both in without parsing.
 */
export function encodeStoredBody(object: ApiObject): string {
  const { apiVersion, kind, metadata, ...rest } = object;
  const { resourceVersion: _, managedFields: _managed, ...kept } = metadata;
  return encodeJson({ apiVersion, kind, metadata: kept, ...rest });
}

/** Characters of a stored object. */
export function storedLength({ body, managed = '' }: { body: string; managed?: string | undefined }): number {
  return body.length + managed.length;
}

/** The managed fields of an object as JSON, stored apart from its body; '' for none. */
export function encodeManagedFields({ metadata: { managedFields } }: ApiObject): string {
  return managedFields === undefined || managedFields.length === 0 ? '' : encodeJson(managedFields);
}

/**
 * A body without managed fields, and those. An earlier release writes them into the body: they count then, and not those
 * of the column, which it does not know.
 */
export function splitManagedFields(stored: { body: string; managed?: string | undefined }): StoredText {
  const { body, managed = '' } = stored;
  // Text in a string does not match: its quotes are escaped.
  if (!body.includes('"managedFields":')) return { body, managed };
  const object = JSON.parse(body) as ApiObject;
  if (object.metadata.managedFields === undefined) return { body, managed };
  return { body: encodeStoredBody(object), managed: encodeManagedFields(object) };
}

interface StoredText {
  body: string;
  managed: string;
}

/** A text that has no managed fields, with them. */
export function withManagedFields(text: string, managed: string): string {
  return managed === '' ? text : withMetadata(text, `"managedFields":${managed}`);
}

/** The text that clients read: the stored one with its resourceVersion. */
export function withRevision(body: string, revision: number): string {
  return withMetadata(body, `"resourceVersion":"${revision}"`);
}

function withMetadata(body: string, members: string): string {
  const at = body.indexOf(metadataStart) + metadataStart.length;
  const separator = body.charCodeAt(at) === 0x7d ? '' : ',';
  return `${body.slice(0, at)}${members}${separator}${body.slice(at)}`;
}

/** The object with its resourceVersion and its managed fields. */
export function decodeBody(body: string, revision: number, managed?: string): ApiObject & JsonObject {
  const object = JSON.parse(body) as ApiObject & JsonObject;
  const { metadata } = object;
  metadata.resourceVersion = String(revision);
  if (managed !== undefined && managed !== '') metadata.managedFields ??= JSON.parse(managed) as JsonObject[];
  return object;
}
