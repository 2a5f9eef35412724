import {
  chain,
  withAuthentication,
  withAuthorization,
  withImpersonation,
  type Handler,
  type RequestContext,
} from '#pkg/http/index';
import { anonymousUser, type Authorizer, type RequestAuthenticator } from '#pkg/identity/index';
import { withPage, type PageRules } from './with-page.ts';
import { SharedAuthenticator } from './shared-authenticator.ts';

export interface RecheckOptions {
  authenticator: RequestAuthenticator;
  authorizer: Authorizer;
  pages: PageRules | undefined;
}

/**
 * Repeats authentication and authorization for a request that is still being answered. Rejects with the StatusError
 * that the request would get now: 401, 403, or the error that prevented the check. The user of a credential may be
 * cached for a second.
 */
export function newRecheck({ authenticator, authorizer, pages }: RecheckOptions): Handler {
  const check = chain(
    [
      withAuthentication(new SharedAuthenticator(authenticator)),
      withImpersonation(authorizer),
      withPage(pages),
      withAuthorization(authorizer),
    ],
    () => Promise.resolve(),
  );
  return (context) => check(unauthenticatedCopy(context));
}

/** The check must not change the context of the running handler. */
function unauthenticatedCopy(context: RequestContext): RequestContext {
  return Object.assign(Object.create(context) as RequestContext, {
    user: anonymousUser,
    impersonator: undefined,
    warnings: [],
  });
}
