import { newAccessNotFound } from '../http/access-error.ts';
import { listAnswer, type ListSource } from '../http/list-answer.ts';
import { noContent, objectSchema, type AccessResponse, type Call, type UserOperation } from '../http/operation.ts';
import { listSchema, pageParameters } from '../records/list-documents.ts';
import { endSession, type EndSessionParts } from './end-session.ts';
import { endSessionCookies } from './session-cookies.ts';
import type { SessionRow, Sessions } from './sessions.ts';

export interface SessionOperationParts extends EndSessionParts {
  sessions: Pick<Sessions, 'list' | 'end'>;
}

const record = objectSchema({
  id: { type: 'string', format: 'uuid' },
  remote_addr: { type: 'string', description: 'Where it began.' },
  user_agent: { type: 'string' },
  created: { type: 'string', format: 'date-time' },
  last_seen: { type: 'string', format: 'date-time', description: 'To the minute.' },
  is_current: { type: 'boolean', description: 'Is it the session of this request?' },
});

/** A user's own sessions of the pages. */
export function sessionOperations(parts: SessionOperationParts): UserOperation[] {
  return [
    {
      method: 'GET',
      path: '/api/v1/authentication/sessions/',
      operationId: 'listSessions',
      access: 'user',
      document: {
        summary: 'List your sessions, the last used first.',
        tag: 'Authentication',
        query: pageParameters,
        responses: { 200: listSchema(record) },
      },
      handle: (call) => list(call, parts),
    },
    {
      method: 'DELETE',
      path: '/api/v1/authentication/sessions/{id}/',
      operationId: 'endSession',
      access: 'user',
      document: { summary: 'End one of your sessions.', tag: 'Authentication', responses: { 204: null, 404: null } },
      handle: (call) => end(call, parts),
    },
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
