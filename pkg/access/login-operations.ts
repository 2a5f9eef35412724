import { Type, type Static } from 'typebox';
import type { BearerTokens } from './tokens/bearer-tokens.ts';
import { defineOpenOperation } from './operations/define-operation.ts';
import { oneOf, timestamp } from './operations/field-schemas.ts';
import type { OpenCall, OpenOperation, OperationDeclaration } from './operations/operation.ts';
import { schemaReference } from './openapi/shared-components.ts';
import { rootOrgId } from './orgs/organization.ts';
import { presentUser, userRecord } from './users/user.ts';
import type { Users } from './users/users.ts';
import { newPasswordChanged } from './login/login-error.ts';
import type { LoginService } from './login/login-service.ts';
import { credentialFields } from './login/credential-fields.ts';

export interface LoginOperationParts {
  login: LoginService;
  bearerTokens: BearerTokens;
  users: Pick<Users, 'findRecord'>;
}

/** Schema of the 400 of a login. */
export const loginErrorAnswer = Type.Unsafe({
  anyOf: [schemaReference('LoginError'), schemaReference('FieldErrors'), schemaReference('Detail')],
});
const answers = {
  201: Type.Object({
    token: Type.String({ pattern: '^[0-9A-Za-z]{36}$' }),
    keyword: oneOf(['Bearer']),
    date_expired: timestamp(),
    user: userRecord,
  }),
  400: loginErrorAnswer,
};

/** `POST /api/v1/authentication/auth/`, with the alias `tokens/`. */
export function loginOperations(parts: LoginOperationParts): OpenOperation[] {
  const loginOperation = (route: Pick<OperationDeclaration, 'path' | 'operationId'>): OpenOperation =>
    defineOpenOperation({
      method: 'POST',
      ...route,
      summary: 'Log in, for a token.',
      description:
        "Answers a token for `Authorization: Bearer <token>`, which is the user's whom the body names, whatever credential came along. Sets no session. After 7 failures the account is locked for 30 minutes.",
      tag: 'Authentication',
      needsNoCsrfToken: true,
      body: credentialFields,
      answers,
      handle: async (call) => logIn((await call.readBody()).done(), call, parts),
    });
  return [
    loginOperation({ path: '/api/v1/authentication/auth/', operationId: 'authenticate' }),
    loginOperation({ path: '/api/v1/authentication/tokens/', operationId: 'createToken' }),
  ];
}

async function logIn(
  { username, password }: Static<typeof credentialFields>,
  { request }: OpenCall,
  { login, bearerTokens, users }: LoginOperationParts,
): Promise<Static<(typeof answers)[201]>> {
  const { address, userAgent } = request;
  const issued = await login.loginFor(
    { username, password, address, userAgent, type: 'api' },
    async ({ id, passwordChanged }) => {
      const token = await bearerTokens.issue(id, { passwordChanged });
      return token && { ...token, userId: id };
    },
  );
  const user = issued && (await users.findRecord(issued.userId));
  // The password was changed, or the user deleted, during the check.
  if (issued === undefined || user === undefined) throw newPasswordChanged();
  return {
    token: issued.token,
    keyword: 'Bearer',
    date_expired: issued.expires.toISOString(),
    user: presentUser(user, rootOrgId),
  };
}
