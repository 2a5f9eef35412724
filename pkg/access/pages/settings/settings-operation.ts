import { sessionCookie } from '../../http/cookies.ts';
import type { AccessResponse, Call, OpenOperation } from '../../operations/operation.ts';
import { csrfTokenOf } from '../../sessions/csrf-token.ts';
import { seeOther, type PageUser } from '../page.ts';

export interface SettingsOperation extends Pick<OpenOperation, 'operationId' | 'path'> {
  method: 'GET' | 'POST';
  /** Where the form is: who has to log in first goes on there. Default `path`. */
  page?: string;
  handle: (call: Call) => Promise<AccessResponse>;
}

/** A page of somebody who has logged in; anyone else is led to the login, and from there back. */
export function settingsOperation({ page, handle, ...operation }: SettingsOperation): OpenOperation {
  return {
    ...operation,
    access: 'open',
    handle: (call) => {
      const { caller, request } = call;
      // Other credentials are for programs: forms that are sent with them would have no token.
      if (caller?.session !== undefined) return handle({ ...call, caller });
      const next = operation.method === 'GET' ? request.target : (page ?? operation.path);
      return Promise.resolve(seeOther(`/login/?next=${encodeURIComponent(next)}`));
    },
  };
}

export function pageUserOf({ caller, request }: Call): PageUser {
  return { username: caller.username, csrfToken: csrfTokenOf(request.cookies.get(sessionCookie) ?? '') };
}

/** Of a field of a form; '' where it is missing. */
export function textField(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
