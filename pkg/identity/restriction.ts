import type { UserInfo } from './user-info.ts';

/**
 * Key in a user's `extra`: the ClusterRoles that a credential is restricted to. A server that forwards a user must
 * forward it too, so that no other server allows more.
 */
export const restrictionKey = 'authentication.svc.run/restricted-to-roles';

/** The user, with the restriction from its `extra`, if any. */
export function withRestrictionFromExtra(user: UserInfo): UserInfo {
  const { extra = {} } = user;
  const roles = Object.hasOwn(extra, restrictionKey) ? extra[restrictionKey] : undefined;
  return roles === undefined ? user : { ...user, restriction: { roles } };
}

/**
 * The user with this additional restriction. Two restrictions leave the roles that both name, which may be less than
 * what both allow, but never more.
 */
export function restrictedBy(user: UserInfo, restriction: UserInfo['restriction']): UserInfo {
  if (restriction === undefined) return user;
  const roles = user.restriction?.roles.filter((role) => restriction.roles.includes(role)) ?? restriction.roles;
  return { ...user, restriction: { roles } };
}
