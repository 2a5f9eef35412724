import { newServiceUnavailable, StatusError } from '#pkg/apimachinery/index';
import { failureSuffix } from '#pkg/database/index';
import { isSameSite, type SameSiteOptions } from '#pkg/http/index';
import { formatCredentialId, withCredentialId, type RequestAuthenticator } from '#pkg/identity/index';
import { readCookies, sessionCookie } from '../http/cookies.ts';
import { userInfoOf } from '../principals/principals.ts';
import { isCsrfTokenOf } from './csrf-token.ts';
import type { Sessions } from './sessions.ts';

export interface SessionAuthenticatorOptions extends SameSiteOptions {
  sessions: Pick<Sessions, 'find'>;
}

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Authenticates a session of the pages on the content platform: one query per request, and one more when its last use
 * is stored. Browsers send the session with requests of any page, so a request that changes something needs the CSRF
 * token in `X-CSRFToken` and must come from a page of this host, else StatusError 403. A request that names
 * another session in `X-SVC-Session`, by its CSRF token, is refused, too: a page that shows one person's data does not
 * get another's. An ended session counts as none.
 * Throws StatusError 503 if the database does not answer.
 */
export function sessionAuthenticator({ sessions, ...site }: SessionAuthenticatorOptions): RequestAuthenticator {
  return {
    authenticateRequest: async (request) => {
      const token = readCookies(request.headers.cookie).get(sessionCookie);
      if (token === undefined) return undefined;
      const session = await findSession(sessions, token);
      if (session === undefined) return undefined;
      const named = request.headers['x-svc-session'];
      if (named !== undefined && !isCsrfTokenOf(token, String(named)))
        throw newCsrfFailed('the header X-SVC-Session names another session than the cookie');
      if (!safeMethods.has(request.method)) {
        const csrfToken = request.headers['x-csrftoken'];
        if (typeof csrfToken !== 'string' || !isCsrfTokenOf(token, csrfToken))
          throw newCsrfFailed('CSRF token missing or incorrect: send that of the session in the header X-CSRFToken');
        if (!isSameSite(request, site))
          throw newCsrfFailed('CSRF check failed: with a session, a change must be asked for by a page of this site');
      }
      return withCredentialId(userInfoOf(session.principal), formatCredentialId('SESSION', session.id));
    },
  };
}

async function findSession(sessions: Pick<Sessions, 'find'>, token: string): ReturnType<Sessions['find']> {
  try {
    return await sessions.find(token);
  } catch (error) {
    const unavailable = newServiceUnavailable(`the session cannot be checked at the moment${failureSuffix(error)}`);
    unavailable.cause = error;
    throw unavailable;
  }
}

function newCsrfFailed(message: string): StatusError {
  return new StatusError(403, 'Forbidden', `forbidden: ${message}`, { details: {} });
}
