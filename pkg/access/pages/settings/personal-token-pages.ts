import { formatTimestamp, type JsonObject } from '#pkg/apimachinery/index';
import { withCredentialId } from '#pkg/identity/index';
import { newFieldErrors } from '../../http/access-error.ts';
import type { AccessResponse, Call, Operation } from '../../operations/operation.ts';
import type { PersonalToken } from '../../tokens/personal-token.ts';
import type { PersonalTokens, TokenOwner } from '../../tokens/personal-tokens.ts';
import { userInfoOf } from '../../principals/principals.ts';
import { html, type Html } from '../html.ts';
import { csrfField, seeOther } from '../page.ts';
import { catchRefusal } from '../form-refusal.ts';
import { timeElement } from '../format-time.ts';
import { newTokenForm, rolePrefix, type TokenForm } from './new-token-form.ts';
import { secretNote } from './secret-note.ts';
import { pageUserOf, settingsOperation, textField } from './settings-operation.ts';
import { settingsPage, type PageOutcome } from './settings-page.ts';

const path = '/settings/personal-tokens/';
const dayMs = 24 * 60 * 60_000;
const done = { revoke: 'The token is revoked.', restore: 'The token is good again.', remove: 'The token is deleted.' };
type Action = keyof typeof done;

interface Shown {
  outcome?: PageOutcome;
  /** A new token, shown before the list. */
  created?: Html;
  sent?: TokenForm;
}

/** Pages to create personal tokens for the content platform (shown once), revoke, restore and delete them. */
export function personalTokenPages(
  tokens: Pick<PersonalTokens, 'list' | 'assignableRoles' | 'create' | Action>,
): Operation[] {
  const show = async (call: Call, { outcome = {}, created, sent }: Shown = {}): Promise<AccessResponse> => {
    const [list, roles] = await Promise.all([
      tokens.list(call.caller.id),
      tokens.assignableRoles(userInfoOf(call.caller)),
    ]);
    const { csrfToken } = pageUserOf(call);
    const form = newTokenForm({
      path,
      csrfToken,
      roles,
      ...(sent === undefined ? {} : { sent }),
      problems: outcome.problems,
    });
    return settingsPage(call, {
      path,
      done,
      ...outcome,
      body: html`${created}${tokenList(list, csrfField(csrfToken))}${form}`,
    });
  };
  const create = async (call: Call): Promise<AccessResponse> => {
    const sent = readForm(await call.request.fields());
    return catchRefusal(
      async () => {
        const { displayName, days, isNarrowed, roles } = sent;
        if (isNarrowed && roles.length === 0) throw newFieldErrors({ roles: ['Choose at least one role.'] });
        if (!isNarrowed && roles.length > 0)
          throw newFieldErrors({
            roles: ['Some roles are chosen: say that the token may do only what they permit, or choose none.'],
          });
        const made = await tokens.create(ownerOf(call), {
          displayName,
          ...(days === '' ? {} : { expiresAt: formatTimestamp(Date.now() + readDays(days) * dayMs) }),
          ...(isNarrowed ? { roles } : {}),
        });
        return show(call, {
          created: secretNote({ title: 'Your new personal token', secrets: { token: made.status.token! } }),
        });
      },
      (outcome) => show(call, { outcome, sent }),
    );
  };
  const change = async (call: Call): Promise<AccessResponse> => {
    const action = textField((await call.request.fields())['action']);
    return catchRefusal(
      async () => {
        if (!isAction(action)) throw newFieldErrors({ non_field_errors: ['Nothing was chosen to be done.'] });
        await tokens[action](ownerOf(call), call.params['name']!);
        return seeOther(`${path}?done=${action}`);
      },
      (outcome) => show(call, { outcome }),
    );
  };
  return [
    settingsOperation({ method: 'GET', path, operationId: 'getPersonalTokensPage', handle: (call) => show(call) }),
    settingsOperation({ method: 'POST', path, operationId: 'postPersonalTokensPage', handle: create }),
    settingsOperation({
      method: 'POST',
      path: `${path}{name}/`,
      page: path,
      operationId: 'postPersonalTokenPage',
      handle: change,
    }),
  ];
}

function ownerOf({ caller, request }: Call): TokenOwner {
  const user = withCredentialId(userInfoOf(caller), caller.credentialId);
  return { user, address: request.address, requestId: request.context.id };
}

function isAction(text: string): text is Action {
  return Object.hasOwn(done, text);
}

function readForm(fields: JsonObject): TokenForm {
  const roles = Object.keys(fields).flatMap((name) =>
    name.startsWith(rolePrefix) ? [name.slice(rolePrefix.length)] : [],
  );
  return {
    displayName: textField(fields['displayName']).trim(),
    days: textField(fields['expiresAt']),
    isNarrowed: fields['scope'] === 'roles',
    roles,
  };
}

function readDays(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw newFieldErrors({ expiresAt: ['Choose one of these.'] });
  return Number(text);
}

function tokenList(list: readonly PersonalToken[], csrf: Html): Html {
  return html`<p>A personal token lets a program in at the content platform, as you: <code>Authorization: Bearer pat_...</code></p>
${list.length === 0 ? html`<p class="card">You have no personal tokens.</p>` : html`<ul class="list">${list.map((token) => tokenCard(token, csrf))}</ul>`}`;
}

function tokenCard({ metadata: { name, creationTimestamp }, spec, status }: PersonalToken, csrf: Html): Html {
  const ofToken = html`<span class="visually-hidden"> token ${name}</span>`;
  const button = (action: Action, text: string): Html =>
    html`<button type="submit" name="action" value="${action}" ${action === 'remove' && html`class="bad"`}>${text}${ofToken}</button>`;
  return html`<li class="card"><h2>${spec.displayName ?? name} ${stateOf({ spec, status })}</h2>
<dl><dt>Name</dt><dd><code>${name}</code></dd>
<dt>May do</dt><dd>${spec.roles === undefined ? 'everything that you may do' : spec.roles.join(', ')}</dd>
<dt>Created</dt><dd>${timeElement(creationTimestamp)}</dd><dt>Expires</dt><dd>${timeElement(spec.expiresAt)}</dd><dt>Last used</dt><dd>${timeElement(status.lastUsed)}</dd></dl>
<div class="actions">
<form method="post" action="${path}${name}/">${csrf}${spec.revoked ? button('restore', 'Restore') : button('revoke', 'Revoke')}</form>
<details class="bad"><summary>Delete${ofToken}</summary>
<form method="post" action="${path}${name}/">${csrf}<p>Programs that use it are refused from then on.</p>${button('remove', 'Delete for good')}</form></details>
</div></li>`;
}

function stateOf({ spec, status }: Pick<PersonalToken, 'spec' | 'status'>): Html {
  if (spec.revoked) return html`<span class="mark bad">revoked</span>`;
  return status.expired ? html`<span class="mark bad">expired</span>` : html`<span class="mark good">active</span>`;
}
