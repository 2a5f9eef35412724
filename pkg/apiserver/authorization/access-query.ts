import type { Attributes } from '#pkg/identity/index';

/** A permission to check against a role's rules, without user and namespace. */
export interface AccessQuery {
  verb: string;
  group: string;
  /** The resource, with its subresource if any: `posts/status`. */
  resource: string;
  /** The same subresource of any resource; absent without one. */
  anyWithSubresource?: string;
  /** '' if the request names no object; absent if the answer must hold for any name. */
  name?: string;
  /** Set for a path that is not a resource; the other fields are then ignored. */
  path?: string;
}

export function accessQueryOf({
  verb,
  group,
  resource,
  subresource,
  name,
  isResourceRequest,
  path,
}: Omit<Attributes, 'user'>): AccessQuery {
  if (!isResourceRequest) return { verb, group: '', resource: '', path };
  if (subresource === '') return { verb, group, resource, name };
  return { verb, group, resource: `${resource}/${subresource}`, anyWithSubresource: `*/${subresource}`, name };
}
