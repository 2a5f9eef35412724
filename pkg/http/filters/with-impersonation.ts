import {
  anonymousUser,
  restrictedBy,
  systemAuthenticated,
  withToldRestriction,
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
 * Does a request as somebody else, whom its `Impersonate-` headers name: 403 unless the user may `impersonate` each of
 * the user, uid, groups and extras, and 400 where the headers cannot be read. From here on the context's user is who
 * was named, with that user's permissions alone, narrowed to what an extra names and to what narrows the credential of
 * who asked; that is `impersonator`. To stand behind `withAuthentication`. The name of a service account is a user like
 * any other. Source: k8s.io/apiserver/pkg/endpoints/filters/impersonation.
 */
export function withImpersonation(authorizer: Authorizer): Filter {
  return (next) => async (context) => {
    const impersonation = readImpersonation(context.request.rawHeaders);
    if (impersonation !== undefined) {
      for (const attributes of questions(context.user, impersonation)) {
        const { allowed, reason } = await authorizer.authorize(attributes);
        if (!allowed) throw newForbiddenRequest(attributes, reason);
      }
      context.impersonator = context.user;
      context.user = restrictedBy(userOf(impersonation), context.user.restriction);
    }
    await next(context);
  };
}

function* questions(user: UserInfo, { user: name, uid, groups, extra }: Impersonation): Generator<Attributes> {
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

/** Everyone is of one of the two groups; a user with a name may be said to be of the other. */
function userOf({ user: name, uid, groups, extra }: Impersonation): UserInfo {
  const isTold =
    groups.includes(systemUnauthenticated) || (name !== anonymousUser.name && groups.includes(systemAuthenticated));
  const implied = name === anonymousUser.name ? systemUnauthenticated : systemAuthenticated;
  return withToldRestriction({
    name,
    uid,
    groups: isTold ? groups : [...groups, implied],
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  });
}
