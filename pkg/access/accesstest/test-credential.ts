import { newAuthenticationFailed } from '../http/access-error.ts';
import { valueOfScheme } from '../http/authenticate.ts';
import type { Credential } from '../http/credential.ts';
import { isUuid } from '../operations/uuid.ts';

/** Accepts `Authorization: Bearer <user id>`, for tests of the code after authentication. */
export const testCredential: Credential = {
  scheme: 'bearer',
  authorizationScheme: 'bearer',
  challenge: 'Bearer realm="api"',
  authenticate: async (request) => {
    const userId = valueOfScheme(request, 'bearer');
    if (userId === undefined) return undefined;
    if (!isUuid(userId)) throw newAuthenticationFailed();
    return { userId, credentialId: `TEST=${userId}` };
  },
};
