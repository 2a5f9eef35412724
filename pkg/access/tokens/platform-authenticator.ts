import { BearerAuthenticator, type TrustedProxies } from '#pkg/http/index';
import type { RequestAuthenticator } from '#pkg/identity/index';
import type { PersonalTokenAuthenticator } from './personal-token-authenticator.ts';

export interface PlatformCredentials {
  tokens: Pick<PersonalTokenAuthenticator, 'authenticateToken'>;
  proxies: TrustedProxies;
  /** Absent while Basic is off: its header is 401 then, as that of any other scheme. */
  basic?: RequestAuthenticator | undefined;
  /** Of the pages; asked where there is no Authorization header. */
  sessions?: RequestAuthenticator | undefined;
}

/**
 * Who asks the content platform. A header that is there decides, and is StatusError 401 where it is wrong, whatever
 * cookie came along; without one the session does, and without that nobody asks.
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
