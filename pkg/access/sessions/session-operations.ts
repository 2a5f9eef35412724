import { Type } from 'typebox';
import { newAccessNotFound } from '../http/access-error.ts';
import { shortList } from '../operations/list-answer.ts';
import { recordOf } from '../operations/record-of.ts';
import { defineList, defineOperation, ValueWithHeaders } from '../operations/define-operation.ts';
import { timestamp, uuid } from '../operations/field-schemas.ts';
import type { UserOperation } from '../operations/operation.ts';
import { anyUser } from '../operations/permission.ts';
import { endSession, type EndSessionParts } from './end-session.ts';
import { endSessionCookies } from './session-cookies.ts';
import type { Sessions } from './sessions.ts';

export interface SessionOperationParts extends EndSessionParts {
  sessions: Pick<Sessions, 'list' | 'end'>;
}

const record = Type.Object({
  id: uuid(),
  remote_addr: Type.String({ description: 'Where it began.' }),
  user_agent: Type.String(),
  created: timestamp(),
  last_seen: timestamp({ description: 'To the minute.' }),
  is_current: Type.Boolean({ description: 'Is it the session of this request?' }),
});
const shared = { tag: 'Authentication', permission: anyUser };

/** A user's own sessions of the pages. */
export function sessionOperations(parts: SessionOperationParts): UserOperation[] {
  return [
    defineList({
      path: '/api/v1/authentication/sessions/',
      operationId: 'listSessions',
      summary: 'List your sessions, the last used first.',
      ...shared,
      record,
      // Short, as the number of sessions per user is limited.
      list: async ({ caller }) =>
        shortList(await parts.sessions.list(caller.id), (row) =>
          recordOf(record, row, { is_current: row.id === caller.session?.id }),
        ),
    }),
    defineOperation({
      method: 'DELETE',
      path: '/api/v1/authentication/sessions/{id}/',
      operationId: 'endSession',
      summary: 'End one of your sessions.',
      ...shared,
      answers: { 204: null },
      handle: async (call) => {
        const id = call.params['id']!.toLowerCase();
        if (!(await endSession(call, id, parts))) throw newAccessNotFound();
        return new ValueWithHeaders(
          undefined,
          id === call.caller.session?.id ? { 'Set-Cookie': endSessionCookies({ secure: call.request.isSecure }) } : {},
        );
      },
    }),
  ];
}
