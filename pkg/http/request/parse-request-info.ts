import { newBadRequest } from '#pkg/apimachinery/index';
import type { RequestInfo } from './request-info.ts';

const methodVerbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};
/** One clause that compares a field with a plain value. Any other form of selector contains other characters. */
const plainClause = /^([A-Za-z0-9][A-Za-z0-9._-]*)(==?|!=)([A-Za-z0-9.:_-]*)$/;
const plainName = /^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$/;

/**
 * Parses a request by the rules of Kubernetes; `path` is the raw path, without the query.
 *
 * Segments are split before they are decoded, so no encoding can move a boundary. A path that is not plain (an empty
 * segment, `.` or `..`, broken percent-encoding, an encoded slash, a control character, anything that is not ASCII) is
 * a StatusError 400. A path that ends in a slash is no resource: it becomes 404. `?watch` counts unless its first value
 * is `0` or `false`, and only without a name in the path. A list or watch by `fieldSelector=metadata.name=x` carries
 * that name (see `selectedName`), so that permissions limited to names apply to it; a handler distinguishes it by the
 * verb. Source: k8s.io/apiserver/pkg/endpoints/request/requestinfo.go.
 */
export function parseRequestInfo(method: string, path: string, query: URLSearchParams): RequestInfo {
  const parts = splitPath(path);
  const last = parts.length - 1;
  const info = unparsedRequestInfo(method, parts.length === 0 ? '/' : `/${parts.join('/')}`);
  let at = 1;
  if (parts[0] === 'apis' && parts.length >= 4) {
    info.group = parts[at]!;
    at += 1;
  } else if (parts[0] !== 'api' || parts.length < 3) {
    return info;
  }
  if (parts[last] === '') return info.group === '' ? info : unparsedRequestInfo(method, info.path);
  info.isResourceRequest = true;
  info.version = parts[at]!;
  at += 1;
  if (parts[at] === 'namespaces' && at < last) {
    info.namespace = parts[at + 1]!;
    if (at + 2 <= last && !isNamespaceSubresource(parts[at + 2]!)) at += 2;
  }
  info.resource = parts[at]!;
  info.name = parts[at + 1] ?? '';
  info.subresource = parts[at + 2] ?? '';
  if (at + 3 <= last) info.rest = parts.slice(at + 3);
  info.verb = resourceVerb(method, info.name);
  if (info.name === '' && info.verb === 'get') {
    info.verb = isWatch(query) ? 'watch' : 'list';
    info.name = selectedName(query.get('fieldSelector'));
  }
  return info;
}

/** The info of a path that is no resource or cannot be parsed. */
export function unparsedRequestInfo(method: string, path: string): RequestInfo {
  return {
    isResourceRequest: false,
    path,
    verb: method.toLowerCase(),
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    rest: [],
  };
}

function isNamespaceSubresource(segment: string): boolean {
  return segment === 'status' || segment === 'finalize';
}

function resourceVerb(method: string, name: string): string {
  if (method === 'DELETE' && name === '') return 'deletecollection';
  return Object.hasOwn(methodVerbs, method) ? methodVerbs[method]! : method.toLowerCase();
}

function isWatch(query: URLSearchParams): boolean {
  const value = query.get('watch');
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/**
 * The single name that a field selector selects, so that permissions limited to names apply to a list or watch by it.
 * '' if it may select more: every clause must be a comparison (`=`, `==`, `!=`) with a value without escapes.
 */
export function selectedName(fieldSelector: string | null | undefined): string {
  let found = '';
  for (const clause of fieldSelector?.split(',') ?? []) {
    const [, field, operator, value = ''] = plainClause.exec(clause) ?? [];
    if (field === undefined) return '';
    if (found === '' && field === 'metadata.name' && operator !== '!=' && plainName.test(value)) found = value;
  }
  return found;
}

/** Decoded segments; a trailing slash yields an empty last one. */
function splitPath(path: string): string[] {
  if (path.charCodeAt(0) !== 47) throw newBadRequest('the path must begin with a slash');
  const encoded = isEncoded(path);
  if (path.length === 1) return [];
  const parts = path.slice(1).split('/');
  for (let i = 0; i < parts.length; i += 1) {
    const part = parts[i]!;
    if (part === '') {
      if (i < parts.length - 1 || i === 0) throw newBadRequest('the path has an empty segment');
    } else if (encoded || part.charCodeAt(0) === 46) {
      parts[i] = plainSegment(part);
    }
  }
  return parts;
}

/** Whether the path contains a percent sign. Throws for characters that no well-formed path contains. */
function isEncoded(path: string): boolean {
  let encoded = false;
  for (let i = 0; i < path.length; i += 1) {
    const code = path.charCodeAt(i);
    if (code <= 0x20 || code >= 0x7f || code === 35 || code === 92)
      throw newBadRequest('the path has a character that must be percent-encoded');
    if (code === 37) encoded = true;
  }
  return encoded;
}

function plainSegment(part: string): string {
  let text: string;
  try {
    text = decodeURIComponent(part);
  } catch {
    throw newBadRequest('the path has malformed percent-encoding');
  }
  if (text === '.' || text === '..') throw newBadRequest('the path must not have "." or ".." segments');
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x7f || code === 47 || code === 92)
      throw newBadRequest('the path has an encoded slash or control character');
  }
  return text;
}
