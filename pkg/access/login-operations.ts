import type { BearerTokens } from './bearer-tokens/bearer-tokens.ts';
import {
  jsonAnswer,
  objectSchema,
  type AccessResponse,
  type OpenCall,
  type OpenOperation,
  type OperationDocument,
} from './http/operation.ts';
import { schemaReference } from './openapi/shared-components.ts';
import { rootOrgId } from './orgs/organization.ts';
import { presentUser } from './users/user.ts';
import { userSchema } from './users/user-documents.ts';
import type { Users } from './users/users.ts';
import { newPasswordChanged } from './login/login-error.ts';
import type { LoginService } from './login/login-service.ts';
import { readCredentials } from './login/read-credentials.ts';

export interface LoginOperationParts {
  login: LoginService;
  bearerTokens: BearerTokens;
  users: Pick<Users, 'findRecord'>;
}

const document: OperationDocument = {
  summary: 'Log in, for a token.',
  description:
    "Answers a token for `Authorization: Bearer <token>`, which is the user's whom the body names, whatever credential came along. Sets no session. After 7 failures the account is locked for 30 minutes.",
  tag: 'Authentication',
  body: objectSchema({
    username: { type: 'string', maxLength: 254, description: 'Or the e-mail address.' },
    password: { type: 'string', maxLength: 1024 },
  }),
  responses: {
    201: objectSchema({
      token: { type: 'string', pattern: '^[0-9A-Za-z]{36}$' },
      keyword: { type: 'string', enum: ['Bearer'] },
      date_expired: { type: 'string', format: 'date-time' },
      user: userSchema,
    }),
    400: { anyOf: [schemaReference('LoginError'), schemaReference('FieldErrors'), schemaReference('Detail')] },
  },
};

/** `POST /api/v1/authentication/auth/`, also known as `tokens/`. */
export function loginOperations(parts: LoginOperationParts): OpenOperation[] {
  const operation = {
    method: 'POST',
    access: 'open',
    checksForm: true,
    document,
    handle: (call: OpenCall) => logIn(call, parts),
  } as const;
  return [
    { ...operation, path: '/api/v1/authentication/auth/', operationId: 'authenticate' },
    { ...operation, path: '/api/v1/authentication/tokens/', operationId: 'createToken' },
  ];
}

async function logIn(
  { request }: OpenCall,
  { login, bearerTokens, users }: LoginOperationParts,
): Promise<AccessResponse> {
  const { username, password } = readCredentials(await request.fields());
  const { id, passwordChanged } = await login.login({
    username,
    password,
    address: request.address,
    userAgent: request.userAgent,
    type: 'api',
  });
  const issued = await bearerTokens.issue(id, { passwordChanged });
  const user = await users.findRecord(id);
  // The password was changed, or the user removed, while it was being checked.
  if (issued === undefined || user === undefined) throw newPasswordChanged();
  return jsonAnswer(201, {
    token: issued.token,
    keyword: 'Bearer',
    date_expired: issued.expires.toISOString(),
    user: presentUser(user, rootOrgId),
  });
}
