/** The user of a request. Source: `authentication/user.Info`. */
export interface UserInfo {
  name: string;
  uid: string;
  groups: readonly string[];
  /** Further attributes of the user; keys in lower case. */
  extra?: Readonly<Record<string, readonly string[]>>;
  /** Restricts a credential: it allows only what one of these ClusterRoles allows too, in any namespace. */
  restriction?: { readonly roles: readonly string[] };
  /** Restricts a request: it allows only what the rules of this page allow too. */
  page?: ActingPage;
  /**
   * When the credential expires, RFC 3339: tokens issued with it expire no later. Absent if there is no such limit.
   * Never shown.
   */
  credentialExpires?: string;
}

/** A page of a plugin, which acts for whoever looks at it. */
export interface ActingPage {
  readonly name: string;
  /** '' if no plugin ships it. */
  readonly plugin: string;
}

/** Has every permission. */
export const systemMasters = 'system:masters';
/** Processes that run the platform's controllers and plugins outside an API server. */
export const systemControllers = 'system:controllers';
/** Processes that serve access management outside an API server. */
export const systemAccessServers = 'system:access-servers';
/** Every authenticated user. */
export const systemAuthenticated = 'system:authenticated';

export const anonymousUser: UserInfo = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };
