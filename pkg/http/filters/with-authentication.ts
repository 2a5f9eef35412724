import { newUnauthorized } from '#pkg/apimachinery/index';
import type { RequestAuthenticator } from '#pkg/identity/index';
import type { Filter } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';

export interface OpenPaths {
  /** Paths served to anyone, without authentication and authorization. Default: none. */
  isOpen?: (info: RequestInfo) => boolean;
  /** Paths served without reading the credential: a probe must not depend on the store of tokens. Default: none. */
  isExempt?: (info: RequestInfo) => boolean;
}

/**
 * Sets the context's user. 401 without a credential, unless the path is open, and for a wrong credential, also on an
 * open path.
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
