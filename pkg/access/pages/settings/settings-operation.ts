import { sessionCookie } from '../../http/cookies.ts';
import type { AccessResponse, Call, OpenOperation } from '../../operations/operation.ts';
import { csrfTokenOf } from '../../sessions/csrf-token.ts';
import { seeOther, type PageUser } from '../page.ts';

export interface SettingsOperation extends Pick<OpenOperation, 'operationId' | 'path'> {
  method: 'GET' | 'POST';
  /** Page of the form, where a user continues after a login. Default `path`. */
  page?: string;
  handle: (call: Call) => Promise<AccessResponse>;
}

/** An operation for logged-in users; others are redirected to the login, and back afterwards. */
export function settingsOperation({ page, handle, ...operation }: SettingsOperation): OpenOperation {
  return {
    ...operation,
    access: 'open',
    handle: (call) => {
      const { caller, request } = call;
      // Only sessions, as other credentials have no CSRF token for the forms.
      if (caller?.session !== undefined) return handle({ ...call, caller });
      const next = operation.method === 'GET' ? request.target : (page ?? operation.path);
      return Promise.resolve(seeOther(`/login/?next=${encodeURIComponent(next)}`));
    },
  };
}

export function pageUserOf({ caller, request }: Call): PageUser {
  return { username: caller.username, csrfToken: csrfTokenOf(request.cookies.get(sessionCookie) ?? '') };
}

/** The text of a form field; '' if it is missing. */
export function textField(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
