import { randomBytes, timingSafeEqual } from 'node:crypto';
import { isCrossSite, type AnswerHeaders } from '#pkg/http/index';
import type { AccessDatabase } from '../access-database.ts';
import type { Audit } from '../audit/audit.ts';
import type { AccessRequest } from '../http/access-request.ts';
import { formatCookie } from '../http/cookies.ts';
import type { AccessResponse, OpenCall, Operation } from '../operations/operation.ts';
import { credentialFields } from '../login/credential-fields.ts';
import { CheckedFields } from '../operations/checked-fields.ts';
import { endSession } from '../sessions/end-session.ts';
import { endSessionCookies, sessionCookies } from '../sessions/session-cookies.ts';
import type { NewSession, Sessions } from '../sessions/sessions.ts';
import { logIn, type LogInParts } from '../sessions/log-in.ts';
import { doneNote, field, problemNote, type Problems } from './form-fields.ts';
import { catchRefusal } from './form-refusal.ts';
import { html } from './html.ts';
import { redirectTarget } from './redirect-target.ts';
import { csrfField, pageAnswer, seeOther } from './page.ts';

export interface LoginPageParts extends LogInParts {
  sessions: Pick<Sessions, 'create' | 'end'>;
  /** Other origins where a login may continue. */
  allowedOrigins: readonly string[];
  database: Pick<AccessDatabase, 'transaction'>;
  audit: Pick<Audit, 'recordOperation'>;
}

/** CSRF cookie of the login form, as there is no session yet: the form holds the same token. */
const formCookie = 'svc_loginform';
const formToken = /^[\w-]{43}$/;

/** `/login/` and `/logout/`. */
export function loginPages(parts: LoginPageParts): Operation[] {
  return [
    {
      method: 'GET',
      path: '/login/',
      operationId: 'getLoginPage',
      access: 'open',
      handle: (call) => Promise.resolve(showLogin(parts, call)),
    },
    {
      method: 'POST',
      path: '/login/',
      operationId: 'postLoginPage',
      access: 'open',
      needsNoCsrfToken: true,
      handle: (call) => postLogin(parts, call),
    },
    {
      method: 'POST',
      path: '/logout/',
      operationId: 'postLogoutPage',
      access: 'open',
      handle: (call) => logOut(parts, call),
    },
  ];
}

function showLogin({ allowedOrigins }: LoginPageParts, { caller, query, request }: OpenCall): AccessResponse {
  const next = redirectTarget(query.get('next') ?? undefined, allowedOrigins);
  if (caller?.scheme === 'session') return seeOther(next);
  return loginForm(request, {
    next,
    allowedOrigins,
    done: query.get('done') === 'logout' ? 'You are logged out.' : undefined,
  });
}

async function postLogin(parts: LoginPageParts, { request }: OpenCall): Promise<AccessResponse> {
  const { allowedOrigins } = parts;
  const { username, password, next: asked, csrfmiddlewaretoken: token } = await request.fields();
  const form = {
    next: redirectTarget(asked, allowedOrigins),
    username: typeof username === 'string' ? username : '',
    allowedOrigins,
  };
  if (!isOwnForm(request, token)) {
    return loginForm(request, {
      ...form,
      status: 403,
      problems: {
        '': ['This form was open for too long, or your browser keeps no cookies for this page. Please try again.'],
      },
    });
  }
  if (form.username === '' || typeof password !== 'string' || password === '') {
    const problems = {
      ...(form.username === '' ? { username: ['Enter your username or e-mail address.'] } : {}),
      ...(typeof password === 'string' && password !== '' ? {} : { password: ['Enter your password.'] }),
    };
    return loginForm(request, { ...form, status: 400, problems });
  }
  const begin = async (): Promise<AccessResponse> => {
    const credentials = CheckedFields.ofBody(credentialFields, { username: form.username, password }).done();
    const session = await logIn({ ...credentials, request }, parts);
    if (session === undefined)
      return loginForm(request, {
        ...form,
        status: 400,
        problems: { '': ['Your password was changed at this moment. Please log in with the new one.'] },
      });
    return seeOther(form.next, { 'Set-Cookie': beginSession(session, request) });
  };
  return catchRefusal(begin, (refusal) => loginForm(request, { ...form, ...refusal }));
}

function beginSession(session: NewSession, { isSecure: secure }: AccessRequest): string[] {
  return [...sessionCookies(session, { secure }), formatCookie(formCookie, '', { maxAge: 0, httpOnly: true, secure })];
}

async function logOut(parts: LoginPageParts, call: OpenCall): Promise<AccessResponse> {
  const { caller, request } = call;
  // Without a session the cookies stay: the request may be from another site.
  if (caller?.session === undefined) return seeOther('/login/?done=logout');
  await endSession({ ...call, caller }, caller.session.id, parts);
  return seeOther('/login/?done=logout', { 'Set-Cookie': endSessionCookies({ secure: request.isSecure }) });
}

/**
 * Was the form sent by our page, with the same token in cookie and form? Browsers also name the page's origin; a
 * request without it is not from a browser.
 */
function isOwnForm(request: AccessRequest, token: unknown): boolean {
  const expected = request.cookies.get(formCookie);
  if (expected === undefined || !formToken.test(expected) || typeof token !== 'string' || !formToken.test(token))
    return false;
  if (isCrossSite(request.context.request, { url: request.url, allowedOrigins: new Set() })) return false;
  return timingSafeEqual(Buffer.from(token), Buffer.from(expected));
}

interface LoginForm extends Pick<LoginPageParts, 'allowedOrigins'> {
  next: string;
  username?: string;
  status?: number;
  problems?: Problems;
  done?: string | undefined;
  headers?: AnswerHeaders;
}

function loginForm(
  request: AccessRequest,
  { next, allowedOrigins, username = '', status = 200, problems, done, headers }: LoginForm,
): AccessResponse {
  // Reuse the token, so that the form in another tab stays valid.
  const held = request.cookies.get(formCookie) ?? '';
  const token = formToken.test(held) ? held : randomBytes(32).toString('base64url');
  return pageAnswer({
    status,
    title: 'Log in',
    isNarrow: true,
    formTargets: allowedOrigins,
    isProblem: problems !== undefined,
    headers: {
      ...headers,
      'Set-Cookie': formatCookie(formCookie, token, { httpOnly: true, secure: request.isSecure }),
    },
    body: html`<div class="card">
${doneNote(done)}
${problemNote(problems)}
<form method="post" action="/login/">
${csrfField(token)}
<input type="hidden" name="next" value="${next}">
${field({ name: 'username', label: 'Username or e-mail address', value: username, autocomplete: 'username', required: true, problems })}
${field({ name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password', required: true, problems })}
<p data-reveal><button class="main" type="submit">Log in</button></p>
</form>
</div>`,
  });
}
