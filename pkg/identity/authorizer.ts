import type { UserInfo } from './user-info.ts';

/** What a request wants to do. Source: `authorizer.Attributes`. */
export interface Attributes {
  user: UserInfo;
  verb: string;
  /** For a resource request; '' where a part is absent. */
  group: string;
  version: string;
  resource: string;
  subresource: string;
  namespace: string;
  name: string;
  /** False for a path that is no resource, such as `/metrics`. */
  isResourceRequest: boolean;
  path: string;
}

export interface Decision {
  allowed: boolean;
  /** For the 403's message; may be empty. */
  reason: string;
}

/** Rejects with a StatusError where it cannot tell at present: 503, with Retry-After. */
export interface Authorizer {
  authorize(attributes: Attributes): Promise<Decision>;
}
