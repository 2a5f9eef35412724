/** Who makes a request. Source: `authentication/user.Info`. */
export interface UserInfo {
  name: string;
  uid: string;
  groups: readonly string[];
}

/** May do everything. */
export const systemMasters = 'system:masters';
/** Everyone who proved who they are. */
export const systemAuthenticated = 'system:authenticated';

export const anonymousUser: UserInfo = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };
