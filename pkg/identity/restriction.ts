import type { UserInfo } from './user-info.ts';

/**
 * In `extra` of a user: the ClusterRoles that a credential is narrowed to. Who passes a user on passes it on too, so
 * that nothing is allowed elsewhere that is not here.
 */
export const restrictionKey = 'authentication.svc.run/restricted-to-roles';

/** The user, with the restriction that their `extra` tells, if any. */
export function withToldRestriction(user: UserInfo): UserInfo {
  const { extra = {} } = user;
  const roles = Object.hasOwn(extra, restrictionKey) ? extra[restrictionKey] : undefined;
  return roles === undefined ? user : { ...user, restriction: { roles } };
}

/**
 * The user, restricted by this too. Of two restrictions what both name is left, which may be less than what both allow,
 * and is never more.
 */
export function restrictedBy(user: UserInfo, restriction: UserInfo['restriction']): UserInfo {
  if (restriction === undefined) return user;
  const roles = user.restriction?.roles.filter((role) => restriction.roles.includes(role)) ?? restriction.roles;
  return { ...user, restriction: { roles } };
}
