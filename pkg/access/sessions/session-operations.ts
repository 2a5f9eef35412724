import { Type } from 'typebox';
import { newAccessNotFound } from '../http/access-error.ts';
import { listAnswer, type ListSource } from '../operations/list-answer.ts';
import { defineOperation } from '../operations/define-operation.ts';
import { timestamp, uuid } from '../operations/field-schemas.ts';
import { listOf } from '../operations/list-operation.ts';
import { noContent, type AccessResponse, type Call, type UserOperation } from '../operations/operation.ts';
import { anyUser } from '../operations/permission.ts';
import { endSession, type EndSessionParts } from './end-session.ts';
import { endSessionCookies } from './session-cookies.ts';
import type { SessionRow, Sessions } from './sessions.ts';

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
    defineOperation({
      method: 'GET',
      path: '/api/v1/authentication/sessions/',
      operationId: 'listSessions',
      summary: 'List your sessions, the last used first.',
      ...shared,
      ...listOf(record),
      handle: (call) => list(call, parts),
    }),
    defineOperation({
      method: 'DELETE',
      path: '/api/v1/authentication/sessions/{id}/',
      operationId: 'endSession',
      summary: 'End one of your sessions.',
      ...shared,
      answers: { 204: null },
      handle: (call) => end(call, parts),
    }),
  ];
}

async function list(call: Call, { sessions }: SessionOperationParts): Promise<AccessResponse> {
  const { caller } = call;
  const rows = await sessions.list(caller.id);
  const source: ListSource<SessionRow> = {
    // There are never many of one user.
    async *all() {
      yield rows;
    },
    page: async ({ offset, limit }) => ({ count: rows.length, rows: rows.slice(offset, offset + limit) }),
    present: (row) => ({ ...row, is_current: row.id === caller.session?.id }),
  };
  return listAnswer(call, source);
}

async function end(call: Call, parts: SessionOperationParts): Promise<AccessResponse> {
  const { caller, params, request } = call;
  const id = params['id']!.toLowerCase();
  if (!(await endSession(call, id, parts))) throw newAccessNotFound();
  return id === caller.session?.id
    ? { ...noContent, headers: { 'Set-Cookie': endSessionCookies({ secure: request.isSecure }) } }
    : noContent;
}
