import { newUnauthorized } from '#pkg/apimachinery/index';
import type { RequestAuthenticator } from '#pkg/identity/index';
import type { Filter } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';

export interface OpenPaths {
  /** Served to anyone, without authentication and permission; default: nothing is. */
  isOpen?: (info: RequestInfo) => boolean;
  /**
   * Served without looking at the credential at all: a probe must not depend on what tokens are looked up in. Default:
   * nothing is.
   */
  isExempt?: (info: RequestInfo) => boolean;
}

/**
 * Sets the context's user; 401 without a credential, unless the path is open. A wrong credential is 401 on an open path
 * too.
 */
export function withAuthentication(
  authenticator: RequestAuthenticator,
  { isOpen = () => false, isExempt = () => false }: OpenPaths = {},
): Filter {
  return (next) => async (context) => {
    if (isExempt(context.info)) return next(context);
    const user = await authenticator.authenticateRequest(context.request);
    if (user !== undefined) context.user = user;
    else if (!isOpen(context.info)) throw newUnauthorized();
    await next(context);
  };
}
