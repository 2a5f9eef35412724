/** Who makes a request. Source: `authentication/user.Info`. */
export interface UserInfo {
  name: string;
  uid: string;
  groups: readonly string[];
  /** What else is known of who it is; keys in lower case. */
  extra?: Readonly<Record<string, readonly string[]>>;
  /**
   * What a credential leaves of what its owner may do: only what one of these ClusterRoles allows too, wherever it is.
   */
  restriction?: { readonly roles: readonly string[] };
  /**
   * When the credential ends, RFC 3339: what is made with it ends no later. Absent where that bounds nothing. Never
   * shown.
   */
  credentialExpires?: string;
}

/** May do everything. */
export const systemMasters = 'system:masters';
/** Everyone who proved who they are. */
export const systemAuthenticated = 'system:authenticated';

export const anonymousUser: UserInfo = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };
