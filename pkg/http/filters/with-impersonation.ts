import {
  anonymousUser,
  restrictedBy,
  systemAuthenticated,
  withRestrictionFromExtra,
  type Attributes,
  type Authorizer,
  type UserInfo,
} from '#pkg/identity/index';
import type { Filter } from '../request/request-context.ts';
import { newForbiddenRequest } from './forbidden-request.ts';
import { readImpersonation, type Impersonation } from './impersonation.ts';

const systemUnauthenticated = 'system:unauthenticated';
const authenticationGroup = 'authentication.k8s.io';

/**
 * Runs a request as the user that its `Impersonate-` headers name. 403 unless the authenticated user may `impersonate`
 * the user, the uid, and each group and extra; 400 for invalid headers. The context's user becomes the named user with
 * only its permissions, restricted by an extra and by the restriction of the credential; `impersonator` becomes the
 * authenticated user. Must run after `withAuthentication`. The name of a service account is a user like any other.
 * Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation.
 */
export function withImpersonation(authorizer: Authorizer): Filter {
  return (next) => async (context) => {
    const impersonation = readImpersonation(context.request.rawHeaders);
    if (impersonation !== undefined) {
      for (const attributes of impersonationChecks(context.user, impersonation)) {
        const { allowed, reason } = await authorizer.authorize(attributes);
        if (!allowed) throw newForbiddenRequest(attributes, reason);
      }
      context.impersonator = context.user;
      context.user = restrictedBy(userOf(impersonation), context.user.restriction);
    }
    await next(context);
  };
}

function* impersonationChecks(
  user: UserInfo,
  { user: name, uid, groups, extra }: Impersonation,
): Generator<Attributes> {
  const common = {
    user,
    verb: 'impersonate',
    version: 'v1',
    subresource: '',
    namespace: '',
    isResourceRequest: true,
    path: '',
  };
  yield { ...common, group: '', resource: 'users', name };
  for (const group of groups) yield { ...common, group: '', resource: 'groups', name: group };
  for (const [key, values] of extra)
    for (const value of values)
      yield { ...common, group: authenticationGroup, resource: 'userextras', subresource: key, name: value };
  if (uid !== '') yield { ...common, group: authenticationGroup, resource: 'uids', name: uid };
}

/** Every user is in one of the two groups; headers may put a named user into the other. */
function userOf({ user: name, uid, groups, extra }: Impersonation): UserInfo {
  const hasGivenGroup =
    groups.includes(systemUnauthenticated) || (name !== anonymousUser.name && groups.includes(systemAuthenticated));
  const implied = name === anonymousUser.name ? systemUnauthenticated : systemAuthenticated;
  return withRestrictionFromExtra({
    name,
    uid,
    groups: hasGivenGroup ? groups : [...groups, implied],
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  });
}
