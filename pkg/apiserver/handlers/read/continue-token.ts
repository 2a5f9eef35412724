import { createHash } from 'node:crypto';
import {
  isIndexDate,
  isJsonObject,
  newBadRequest,
  newExpired,
  type GroupResource,
  type IndexDefinition,
  type Sort,
} from '#pkg/apimachinery/index';
import type { ChunkPosition } from '#pkg/storage/index';

const maxTokenLength = 64 * 1024;
const maxNameLength = 253;
const base64url = /^[A-Za-z0-9_-]+$/;

type PositionKey = ChunkPosition['keys'][number];

/** Identifies the list of a continue token. The token is valid only for the same list. */
export interface ListIdentity {
  resource: GroupResource;
  /** Absent for all namespaces. */
  namespace?: string;
  labelSelector: readonly string[];
  fieldSelector: readonly string[];
  sort: readonly string[];
}

/** A short hash of a list's identity. Selectors and sort are hashed as the client sent them. */
export function listFingerprint({ resource, namespace, labelSelector, fieldSelector, sort }: ListIdentity): string {
  const parts = [resource.group, resource.resource, namespace ?? null, labelSelector, fieldSelector, sort];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url').slice(0, 16);
}

/**
 * The position where a chunked list continues, as text that the client sends back. Revision 0 means the newest revision
 * at that time. Not signed: a token grants nothing, because its request is authorized and selects like any other.
 */
export function encodeContinueToken(
  { revision, namespace, name, keys, served, total }: ChunkPosition,
  fingerprint: string,
): string {
  const token = {
    v: 1,
    rv: revision,
    ns: namespace,
    name,
    keys,
    served,
    ...(total === undefined ? {} : { total }),
    list: fingerprint,
  };
  return Buffer.from(JSON.stringify(token)).toString('base64url');
}

/** @throws StatusError 400 for anything that is not a token of this list. */
export function decodeContinueToken(text: string, fingerprint: string, sort: Sort): ChunkPosition {
  const token = parseToken(text);
  const { rv, ns, name, keys, served, total, list } = token;
  if (token['v'] !== 1) throw newInvalidToken('it was not given by this server');
  if (list !== fingerprint)
    throw newInvalidToken(
      'it belongs to another list: resource, namespace, selectors and sort must be those of the first chunk',
    );
  if (!isCount(rv) || !isCount(served) || !(total === undefined || isCount(total)))
    throw newInvalidToken('its numbers are not valid');
  if (!isName(ns) || !isName(name)) throw newInvalidToken('its position is not valid');
  if (!Array.isArray(keys) || keys.length !== sort.length) throw newInvalidToken('its position does not fit the sort');
  const valid = sort.every(({ index }, position) => isKeyOf(index, keys[position]));
  if (!valid) throw newInvalidToken('its position does not fit the sort');
  return {
    revision: rv,
    namespace: ns,
    name,
    keys: keys as PositionKey[],
    served,
    ...(total === undefined ? {} : { total }),
  };
}

/** 410 for a token whose history is no longer kept. The token in the response continues without that history. */
export function newExpiredToken(after: ChunkPosition, fingerprint: string): Error {
  return newExpired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
      'or use the continue token in this response to retrieve the remainder of the results, which may be inconsistent with the chunks before.',
    // Revision 0 means the newest revision when the client sends the token back.
    encodeContinueToken({ ...after, revision: 0 }, fingerprint),
  );
}

function parseToken(text: string): Record<string, unknown> {
  if (text.length > maxTokenLength || !base64url.test(text)) throw newInvalidToken('it is not well-formed');
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    throw newInvalidToken('it is not well-formed');
  }
  if (!isJsonObject(value)) throw newInvalidToken('it is not well-formed');
  return value;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= maxNameLength && isStorable(value);
}

/** Every key becomes a query parameter, so it must be a value that the index can hold. */
function isKeyOf({ type }: IndexDefinition, value: unknown): value is PositionKey {
  if (value === null) return true;
  if (type === 'string') return typeof value === 'string' && isStorable(value);
  if (type === 'boolean') return typeof value === 'boolean';
  if (type === 'date') return isIndexDate(value);
  return type === 'number' ? Number.isFinite(value) : Number.isSafeInteger(value);
}

/** The type text of PostgreSQL holds neither U+0000 nor half a surrogate pair. */
function isStorable(text: string): boolean {
  return !text.includes('\0') && !/\p{Surrogate}/u.test(text);
}

function newInvalidToken(detail: string): Error {
  return newBadRequest(`invalid continue token: ${detail}`, [
    { reason: 'FieldValueInvalid', message: detail, field: 'continue' },
  ]);
}
