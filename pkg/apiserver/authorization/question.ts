import type { Attributes } from '#pkg/identity/index';

/** What is asked of the rules of a role, without who asks and where. */
export interface Question {
  verb: string;
  group: string;
  /** The resource, with its subresource where there is one: `posts/status`. */
  resource: string;
  /** The same subresource of any resource; absent without one. */
  anyWithSubresource?: string;
  /** '' where the request names no object; absent where the answer is to hold whatever the name. */
  name?: string;
  /** There for what is no resource: the rest does not count then. */
  path?: string;
}

export function questionOf({
  verb,
  group,
  resource,
  subresource,
  name,
  isResourceRequest,
  path,
}: Omit<Attributes, 'user'>): Question {
  if (!isResourceRequest) return { verb, group: '', resource: '', path };
  if (subresource === '') return { verb, group, resource, name };
  return { verb, group, resource: `${resource}/${subresource}`, anyWithSubresource: `*/${subresource}`, name };
}
