import { credentialIdOf, isPersonalToken } from '#pkg/identity/index';
import type { PersonalTokenAuthenticator } from './personal-token-authenticator.ts';
import { newAuthenticationFailed, newPermissionDenied } from '../http/access-error.ts';
import { valueOfScheme } from '../http/authenticate.ts';
import type { Credential } from '../http/credential.ts';

/** The content platform's role for monitoring. */
const monitoringRole = 'system:monitoring';

/** Finds the owner of a personal token. */
export type MetricsTokens = Pick<PersonalTokenAuthenticator, 'authenticateToken'>;

/**
 * The same credentials for `/metrics`, where `Authorization: Bearer` also accepts a personal token, unlike elsewhere:
 * so a metrics collector needs one token for both services. A token with restricted roles must include
 * `system:monitoring`, else 403.
 */
export function metricsCredentials(credentials: readonly Credential[], tokens: MetricsTokens): Credential[] {
  return credentials.map((credential) =>
    credential.authorizationScheme === 'bearer' ? orPersonalToken(credential, tokens) : credential,
  );
}

function orPersonalToken(bearer: Credential, tokens: MetricsTokens): Credential {
  return {
    scheme: 'bearer',
    authorizationScheme: 'bearer',
    authenticate: async (request) => {
      const token = valueOfScheme(request, 'bearer');
      if (token === undefined || !isPersonalToken(token)) return bearer.authenticate(request);
      const user = await tokens.authenticateToken(token, () => request.address);
      if (user === undefined) throw newAuthenticationFailed();
      if (user.restriction !== undefined && !user.restriction.roles.includes(monitoringRole))
        throw newPermissionDenied();
      return { userId: user.uid, credentialId: credentialIdOf(user) };
    },
  };
}
