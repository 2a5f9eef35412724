import type { Static } from 'typebox';
import type { AccessRequest } from '../http/access-request.ts';
import { sessionCookie } from '../http/cookies.ts';
import type { credentialFields } from '../login/credential-fields.ts';
import type { LoginService } from '../login/login-service.ts';
import type { NewSession, Sessions } from './sessions.ts';

export interface LogInParts {
  login: Pick<LoginService, 'loginFor'>;
  sessions: Pick<Sessions, 'create'>;
}

/** A new session, and the user who logged in. */
export interface LoggedIn extends NewSession {
  userId: string;
}

/**
 * Checks the password and begins a session, which replaces the browser's previous one. Undefined if the password was
 * changed meanwhile. Throws as `LoginService.login`.
 */
export function logIn(
  { request, ...credentials }: Static<typeof credentialFields> & { request: AccessRequest },
  { login, sessions }: LogInParts,
): Promise<LoggedIn | undefined> {
  const { address, userAgent } = request;
  return login.loginFor(
    { ...credentials, address, userAgent, type: 'web' },
    async ({ id: userId, passwordChanged }) => {
      const replaces = request.cookies.get(sessionCookie);
      const session = await sessions.create({ userId, address, userAgent, passwordChanged, replaces });
      return session && { ...session, userId };
    },
  );
}
