import type { UserInfo } from './user-info.ts';

/** The action that a request asks for. Source: `authorizer.Attributes`. */
export interface Attributes {
  user: UserInfo;
  verb: string;
  /** For a resource request; '' if the request lacks that part. */
  group: string;
  version: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  /** False for a path that is not a resource, such as `/metrics`. */
  isResourceRequest: boolean;
  path: string;
}

export interface Decision {
  allowed: boolean;
  /** For the 403's message; may be empty. */
  reason: string;
}

/** Rejects with StatusError 503, with Retry-After, if it cannot decide at present. */
export interface Authorizer {
  authorize(attributes: Attributes): Promise<Decision>;
}
