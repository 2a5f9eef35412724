import type { ObjectKey } from '../meta/object.ts';
import { newBadRequest } from '../status/status-error.ts';
import type { ApplyOptions, Fence, ListOptions, Selection } from './client.ts';
import { fenceHeader, formatFence, parseFence } from './fence.ts';
import type { ResourceType } from './resource-type.ts';

/**
 * The path of a type's objects, in one namespace or in all; `checkNamespaceName` must have accepted `namespace`, or the
 * server answers. @throws StatusError 400
 */
export function collectionPath({ group, version, plural }: ResourceType, namespace = ''): string {
  const root = group === '' ? ['api', version] : ['apis', group, version];
  return [...root, ...(namespace === '' ? [] : ['namespaces', namespace]), plural].map(segment).join('');
}

/** `checkObjectKey` must have accepted `key`. */
export function objectPath(
  type: ResourceType,
  { namespace, name }: ObjectKey,
  subresource: '' | 'status' = '',
): string {
  return collectionPath(type, namespace) + segment(name) + (subresource === '' ? '' : `/${subresource}`);
}

export function selectionQuery({ labelSelector, fieldSelector }: Selection): URLSearchParams {
  const query = new URLSearchParams();
  if (labelSelector !== undefined) query.set('labelSelector', labelSelector);
  if (fieldSelector !== undefined) query.set('fieldSelector', fieldSelector);
  return query;
}

export function listSearchParams(options: ListOptions & { limit: number }): URLSearchParams {
  const query = selectionQuery(options);
  for (const sort of options.sort ?? []) query.append('sort', sort);
  query.set('limit', String(options.limit));
  if (options.continue !== undefined) query.set('continue', options.continue);
  return query;
}

export function writeQuery(
  { dryRun = false, fieldValidation, force = false }: ApplyOptions,
  fieldManager?: string,
): URLSearchParams {
  const query = new URLSearchParams();
  if (dryRun) query.set('dryRun', 'All');
  if (fieldValidation !== undefined) query.set('fieldValidation', fieldValidation);
  if (fieldManager !== undefined) query.set('fieldManager', fieldManager);
  if (force) query.set('force', 'true');
  return query;
}

/** @throws StatusError 400 for an impossible fence. */
export function fenceHeaders(fence: Fence | undefined): Record<string, string> {
  return fence === undefined ? {} : { [fenceHeader]: formatFence(parseFence(formatFence(fence))) };
}

/** A segment of dots would mean a parent folder, and half a character has no form in a URL. @throws StatusError 400 */
function segment(text: string): string {
  try {
    if (!/^\.{0,2}$/.test(text)) return `/${encodeURIComponent(text)}`;
  } catch {
    // It is refused like the others.
  }
  throw newBadRequest(`the path of the request cannot have the segment ${JSON.stringify(text)}`);
}
