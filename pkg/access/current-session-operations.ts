import { Type, type Static } from 'typebox';
import { newAccessNotFound } from './http/access-error.ts';
import { sessionCookie } from './http/cookies.ts';
import { credentialFields } from './login/credential-fields.ts';
import { newPasswordChanged } from './login/login-error.ts';
import { defineOpenOperation, defineOperation, ValueWithHeaders } from './operations/define-operation.ts';
import { uuid } from './operations/field-schemas.ts';
import type { Operation } from './operations/operation.ts';
import { anyUser } from './operations/permission.ts';
import { rootOrgId } from './orgs/organization.ts';
import { csrfTokenOf } from './sessions/csrf-token.ts';
import { endSession, type EndSessionParts } from './sessions/end-session.ts';
import { logIn, type LogInParts } from './sessions/log-in.ts';
import { endSessionCookies, sessionCookies } from './sessions/session-cookies.ts';
import type { Sessions } from './sessions/sessions.ts';
import { loginErrorAnswer } from './login-operations.ts';
import { presentUser, userRecord } from './users/user.ts';
import type { Users } from './users/users.ts';

export interface CurrentSessionParts extends EndSessionParts, LogInParts {
  sessions: Pick<Sessions, 'create' | 'end'>;
  users: Pick<Users, 'findRecord'>;
}

const currentSession = Type.Object({
  id: uuid(),
  csrf_token: Type.String({
    description: 'For the header `X-CSRFToken` of every request that changes something, also of the content platform.',
  }),
  user: userRecord,
});
const path = '/api/v1/authentication/sessions/';
const shared = { tag: 'Authentication' };

/** The session of a browser: begin it, read it, end it. `/login/` and `/logout/` do the same by forms. */
export function currentSessionOperations(parts: CurrentSessionParts): Operation[] {
  return [
    defineOpenOperation({
      method: 'POST',
      path,
      operationId: 'beginSession',
      summary: 'Log in, for a session.',
      description:
        'Sets the cookies `svc_sessionid` and `svc_csrftoken`, and ends the previous session of the browser. Pages of this host and of `svc.http.cors.allowed-origins` may ask. After 7 failures the account is locked for 30 minutes.',
      ...shared,
      needsNoCsrfToken: true,
      refusesOtherSites: true,
      body: credentialFields,
      answers: { 201: currentSession, 400: loginErrorAnswer },
      handle: async (call) => {
        const { request } = call;
        const session = await logIn({ ...(await call.readBody()).done(), request }, parts);
        if (session === undefined) throw newPasswordChanged();
        return new ValueWithHeaders(
          await present({ id: session.id, token: session.token, userId: session.userId }, parts),
          { 'Set-Cookie': sessionCookies(session, { secure: request.isSecure }) },
        );
      },
    }),
    defineOperation({
      method: 'GET',
      path: `${path}current/`,
      operationId: 'getCurrentSession',
      summary: 'Get the session of this request, with its CSRF token; 404 with another credential.',
      ...shared,
      permission: anyUser,
      answers: { 200: currentSession },
      handle: async ({ caller, request }) => {
        if (caller.session === undefined) throw newAccessNotFound();
        const token = request.cookies.get(sessionCookie)!;
        return present({ id: caller.session.id, token, userId: caller.id }, parts);
      },
    }),
    defineOperation({
      method: 'DELETE',
      path,
      operationId: 'endCurrentSession',
      summary: 'Log out: end the session of this request; 404 with another credential.',
      ...shared,
      permission: anyUser,
      answers: { 204: null },
      handle: async (call) => {
        const { caller, request } = call;
        if (caller.session === undefined || !(await endSession(call, caller.session.id, parts)))
          throw newAccessNotFound();
        return new ValueWithHeaders(undefined, { 'Set-Cookie': endSessionCookies({ secure: request.isSecure }) });
      },
    }),
  ];
}

async function present(
  { id, token, userId }: { id: string; token: string; userId: string },
  { users }: Pick<CurrentSessionParts, 'users'>,
): Promise<Static<typeof currentSession>> {
  const user = await users.findRecord(userId);
  // Deleted since the session was found.
  if (user === undefined) throw newAccessNotFound();
  return { id, csrf_token: csrfTokenOf(token), user: presentUser(user, rootOrgId) };
}
