import {
  chain,
  withAuthentication,
  withAuthorization,
  withImpersonation,
  type Handler,
  type RequestContext,
} from '#pkg/http/index';
import { anonymousUser, type Authorizer, type RequestAuthenticator } from '#pkg/identity/index';
import { SharedAuthenticator } from './shared-authenticator.ts';

export interface RecheckOptions {
  authenticator: RequestAuthenticator;
  authorizer: Authorizer;
}

/**
 * Asks of a request that is still being answered what was asked when it came: is the credential good, and may its owner
 * do this? The answer rejects with the StatusError with which the request would be refused now: 401, 403, or what keeps
 * it from being known. Whom the credential is of is as new as a second ago.
 */
export function newRecheck({ authenticator, authorizer }: RecheckOptions): Handler {
  const check = chain(
    [
      withAuthentication(new SharedAuthenticator(authenticator)),
      withImpersonation(authorizer),
      withAuthorization(authorizer),
    ],
    () => Promise.resolve(),
  );
  return (context) => check(asItCame(context));
}

/** What is found out about it now is not for whoever answers it: that has a user. */
function asItCame(context: RequestContext): RequestContext {
  return Object.assign(Object.create(context) as RequestContext, {
    user: anonymousUser,
    impersonator: undefined,
    warnings: [],
  });
}
