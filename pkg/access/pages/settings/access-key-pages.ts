import { keyOwnerOf, newTooManyKeys, parseKeySettings } from '../../access-keys/access-key-operations.ts';
import { maxAccessKeys, type AccessKey, type AccessKeys } from '../../access-keys/access-keys.ts';
import { anyAddress } from '../../access-keys/ip-group.ts';
import { newAccessNotFound } from '../../http/access-error.ts';
import type { AccessResponse, Call, Operation } from '../../operations/operation.ts';
import { field } from '../form-fields.ts';
import { html, type Html } from '../html.ts';
import { csrfField, seeOther } from '../page.ts';
import { catchRefusal } from '../form-refusal.ts';
import { timeElement } from '../format-time.ts';
import { secretNote } from './secret-note.ts';
import { pageUserOf, settingsOperation, textField } from './settings-operation.ts';
import { settingsPage, type PageOutcome } from './settings-page.ts';

const path = '/settings/access-keys/';
const hint = 'One to a line: addresses, ranges such as 10.0.0.0/8 or 10.0.0.1-10.0.0.9, or * for everywhere.';
const done = {
  saved: 'The key is changed.',
  deleted: 'The key is deleted. What is signed with it is refused from now on.',
};

interface Shown {
  outcome?: PageOutcome;
  /** A new key, shown before the list. */
  created?: Html;
  ipGroup?: string;
}

/** Pages to create access keys (their secret is shown once), change and delete them. */
export function accessKeyPages(keys: Pick<AccessKeys, 'list' | 'create' | 'update' | 'delete'>): Operation[] {
  const show = async (call: Call, { outcome = {}, created, ipGroup }: Shown = {}): Promise<AccessResponse> => {
    const list = await keys.list(call.caller.id);
    return settingsPage(call, {
      path,
      done,
      ...outcome,
      body: html`${created}${keyList(call, list)}${newKeyForm(call, { outcome, ipGroup: ipGroup ?? anyAddress })}`,
    });
  };
  const create = async (call: Call): Promise<AccessResponse> => {
    const { ip_group: ipGroup = anyAddress } = await call.request.fields();
    return catchRefusal(
      async () => {
        const made = await keys.create(keyOwnerOf(call), {
          ipGroup: [anyAddress],
          isActive: true,
          ...parseKeySettings({ ip_group: ipGroup }),
        });
        if (made === undefined) throw newTooManyKeys();
        return show(call, {
          created: secretNote({
            title: 'Your new access key',
            secrets: { 'key id': made.key.id, 'key secret': made.secret },
          }),
        });
      },
      (outcome) => show(call, { outcome, ipGroup: textField(ipGroup) }),
    );
  };
  const change = async (call: Call): Promise<AccessResponse> => {
    const { action, ...fields } = await call.request.fields();
    const id = call.params['id']!;
    return catchRefusal(
      async () => {
        const isDeletion = action === 'delete';
        const isFound = isDeletion
          ? await keys.delete(keyOwnerOf(call), id)
          : (await keys.update(keyOwnerOf(call), id, parseKeySettings(fields))) !== undefined;
        if (!isFound) throw newAccessNotFound('There is no such key any more.');
        return seeOther(`${path}?done=${isDeletion ? 'deleted' : 'saved'}`);
      },
      ({ problems, ...outcome }) =>
        show(call, { outcome: { ...outcome, problems: { '': Object.values(problems).flat() } } }),
    );
  };
  return [
    settingsOperation({ method: 'GET', path, operationId: 'getAccessKeysPage', handle: (call) => show(call) }),
    settingsOperation({ method: 'POST', path, operationId: 'postAccessKeysPage', handle: create }),
    settingsOperation({
      method: 'POST',
      path: `${path}{id}/`,
      page: path,
      operationId: 'postAccessKeyPage',
      handle: change,
    }),
  ];
}

function newKeyForm(call: Call, { outcome: { problems }, ipGroup }: { outcome: PageOutcome; ipGroup: string }): Html {
  return html`<section class="card" aria-labelledby="new"><h2 id="new">New access key</h2>
<form method="post" action="${path}">
${csrfField(pageUserOf(call).csrfToken)}
${field({ name: 'ip_group', label: 'Addresses it may be used from', value: ipGroup, rows: 2, hint, required: true, problems })}
<button class="main" type="submit">Create access key</button>
</form></section>`;
}

function keyList(call: Call, list: readonly AccessKey[]): Html {
  const csrf = csrfField(pageUserOf(call).csrfToken);
  return html`<p>With an access key a program signs what it asks of this service: see <a href="/api/docs/">the API reference</a>. You may have ${maxAccessKeys}.</p>
${list.length === 0 ? html`<p class="card">You have no access keys.</p>` : html`<ul class="list">${list.map((key) => keyCard(key, csrf))}</ul>`}`;
}

function keyCard({ id, isActive, ipGroup, dateCreated, dateLastUsed }: AccessKey, csrf: Html): Html {
  const ofKey = html`<span class="visually-hidden"> of key ${id}</span>`;
  return html`<li class="card"><h2><code>${id}</code> ${isActive ? html`<span class="mark good">active</span>` : html`<span class="mark bad">disabled</span>`}</h2>
<dl><dt>From</dt><dd>${ipGroup.join(', ')}</dd><dt>Created</dt><dd>${timeElement(dateCreated)}</dd><dt>Last used</dt><dd>${timeElement(dateLastUsed)}</dd></dl>
<div class="actions">
<form method="post" action="${path}${id}/">${csrf}<input type="hidden" name="is_active" value="${String(!isActive)}"><button type="submit">${isActive ? 'Disable' : 'Enable'}<span class="visually-hidden"> key ${id}</span></button></form>
<details><summary>Change addresses${ofKey}</summary>
<form method="post" action="${path}${id}/">${csrf}
${field({ name: 'ip_group', id: `ip_group-${id}`, label: 'Addresses it may be used from', value: ipGroup.join('\n'), rows: 3, hint, required: true })}
<button type="submit">Save addresses${ofKey}</button></form></details>
<details class="bad"><summary>Delete<span class="visually-hidden"> key ${id}</span></summary>
<form method="post" action="${path}${id}/">${csrf}<p>Programs that use it are refused from then on.</p>
<button class="bad" type="submit" name="action" value="delete">Delete for good<span class="visually-hidden"> key ${id}</span></button></form></details>
</div></li>`;
}
