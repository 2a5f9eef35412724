import { actorOf } from '../../audit/audit.ts';
import { newAccessNotFound } from '../../http/access-error.ts';
import type { AccessResponse, Call, Operation } from '../../operations/operation.ts';
import { endSession, type EndSessionParts } from '../../sessions/end-session.ts';
import type { SessionRow, Sessions } from '../../sessions/sessions.ts';
import { html, type Html } from '../html.ts';
import { csrfField, seeOther } from '../page.ts';
import { catchRefusal } from '../form-refusal.ts';
import { timeElement } from '../format-time.ts';
import { pageUserOf, settingsOperation } from './settings-operation.ts';
import { settingsPage, type PageOutcome } from './settings-page.ts';

const path = '/settings/sessions/';

export interface SessionPageParts extends EndSessionParts {
  sessions: Pick<Sessions, 'list' | 'end' | 'endAll'>;
}

/** Page with a user's sessions, and buttons to end them. */
export function sessionPages(parts: SessionPageParts): Operation[] {
  const show = async (call: Call, outcome: PageOutcome = {}): Promise<AccessResponse> => {
    const rows = await parts.sessions.list(call.caller.id);
    return settingsPage(call, {
      path,
      done: { ended: 'The session has ended.', others: 'Your other sessions have ended.' },
      ...outcome,
      body: sessionList(call, rows),
    });
  };
  const end = (call: Call): Promise<AccessResponse> =>
    catchRefusal(
      async () => {
        if (!(await endSession(call, call.params['id']!, parts)))
          throw newAccessNotFound('This session has ended already.');
        return seeOther(`${path}?done=ended`);
      },
      (refusal) => show(call, refusal),
    );
  const endOthers = async (call: Call): Promise<AccessResponse> => {
    const { id, username, session } = call.caller;
    await parts.database.transaction(async (on) => {
      await parts.sessions.endAll(id, { except: session!.id }, on);
      await parts.audit.recordOperation(
        { ...actorOf(call), action: 'revoke', resourceType: 'session', resource: username, detail: 'all but one' },
        on,
      );
    });
    return seeOther(`${path}?done=others`);
  };
  return [
    settingsOperation({ method: 'GET', path, operationId: 'getSessionsPage', handle: (call) => show(call) }),
    settingsOperation({
      method: 'POST',
      path: `${path}others/`,
      page: path,
      operationId: 'postOtherSessionsPage',
      handle: endOthers,
    }),
    settingsOperation({
      method: 'POST',
      path: `${path}{id}/`,
      page: path,
      operationId: 'postSessionPage',
      handle: end,
    }),
  ];
}

function sessionList(call: Call, rows: readonly SessionRow[]): Html {
  const csrf = csrfField(pageUserOf(call).csrfToken);
  const current = call.caller.session!.id;
  return html`<p>Each is a browser in which you have logged in. A session that is not used for long ends by itself.</p>
<ul class="list">${rows.map((row) => sessionCard(row, { csrf, isCurrent: row.id === current }))}</ul>
${rows.length > 1 && html`<form method="post" action="${path}others/">${csrf}<button class="bad" type="submit">End all other sessions</button></form>`}`;
}

function sessionCard(
  { id, remote_addr: address, user_agent: browser, created, last_seen: lastSeen }: SessionRow,
  { csrf, isCurrent }: { csrf: Html; isCurrent: boolean },
): Html {
  return html`<li class="card"><h2>${address} ${isCurrent && html`<span class="mark good">this one</span>`}</h2>
<dl><dt>Browser</dt><dd>${browser || 'unknown'}</dd><dt>Since</dt><dd>${timeElement(created)}</dd><dt>Last used</dt><dd>${timeElement(lastSeen)}</dd></dl>
${!isCurrent && html`<form method="post" action="${path}${id}/">${csrf}<button class="bad" type="submit">End this session<span class="visually-hidden"> from ${address}, begun ${timeElement(created)}</span></button></form>`}
</li>`;
}
