import { BearerAuthenticator, type TrustedProxies } from '#pkg/http/index';
import type { RequestAuthenticator } from '#pkg/identity/index';
import type { PersonalTokenAuthenticator } from './personal-token-authenticator.ts';

export interface PlatformCredentials {
  tokens: Pick<PersonalTokenAuthenticator, 'authenticateToken'>;
  proxies: TrustedProxies;
  /** Absent if Basic is disabled: its header is then 401, like that of any unknown scheme. */
  basic?: RequestAuthenticator | undefined;
  /** Sessions of the pages; used if there is no Authorization header. */
  sessions?: RequestAuthenticator | undefined;
}

/**
 * Authenticates requests to the content platform. An Authorization header takes precedence over a cookie, and is
 * StatusError 401 if wrong; without one the session counts, and without a session the request is anonymous.
 */
export function platformAuthenticator({ tokens, proxies, basic, sessions }: PlatformCredentials): RequestAuthenticator {
  return {
    authenticateRequest: async (request) => {
      const { authorization } = request.headers;
      if (authorization === undefined) return sessions?.authenticateRequest(request);
      const byPassword = await basic?.authenticateRequest(request);
      if (byPassword !== undefined) return byPassword;
      const bearer = new BearerAuthenticator({
        authenticateToken: (token) => tokens.authenticateToken(token, () => proxies.addressOf(request)),
      });
      return bearer.authenticateRequest(request);
    },
  };
}
