import { formatCredentialId } from '#pkg/identity/index';
import type { Audit } from '../audit/audit.ts';
import { newAuthenticationFailed } from '../http/access-error.ts';
import { valueOfScheme } from '../http/authenticate.ts';
import type { Credential } from '../http/credential.ts';
import type { PrivateTokens } from './private-tokens.ts';

/** `Authorization: Token <40 hexadecimal characters>`. A wrong one has an audit row, without the token. */
export function privateTokenCredential({
  tokens,
  audit,
}: {
  tokens: Pick<PrivateTokens, 'findOwner'>;
  audit: Audit;
}): Credential {
  return {
    scheme: 'private_token',
    authorizationScheme: 'token',
    challenge: 'Token realm="api"',
    authenticate: async (request) => {
      const token = valueOfScheme(request, 'token');
      if (token === undefined) return undefined;
      const userId = await tokens.findOwner(token);
      if (userId !== undefined) return { userId, credentialId: formatCredentialId('PRIVATETOKEN', userId) };
      await audit.recordOperation({
        actor: undefined,
        action: 'failed_use',
        resourceType: 'private_token',
        resource: '',
        address: request.address,
        requestId: request.context.id,
      });
      throw newAuthenticationFailed();
    },
  };
}
