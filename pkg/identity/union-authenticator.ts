import type { RequestAuthenticator } from './authenticator.ts';

/** Asks each in turn; the first that knows the credential decides, and one that finds it wrong ends the search by its 401. */
export function unionAuthenticator(...authenticators: readonly RequestAuthenticator[]): RequestAuthenticator {
  return {
    async authenticateRequest(request) {
      for (const authenticator of authenticators) {
        const user = await authenticator.authenticateRequest(request);
        if (user !== undefined) return user;
      }
      return undefined;
    },
  };
}
