import type { AccessResponse, Call, Operation } from '../../operations/operation.ts';
import { CheckedFields } from '../../operations/checked-fields.ts';
import { profileChangeFields, type OwnProfile } from '../../users/own-profile.ts';
import type { UserRecord } from '../../users/user.ts';
import { field } from '../form-fields.ts';
import { html, type Html } from '../html.ts';
import { csrfField, seeOther } from '../page.ts';
import { catchRefusal } from '../form-refusal.ts';
import { timeElement } from '../format-time.ts';
import { pageUserOf, settingsOperation, textField } from './settings-operation.ts';
import { settingsPage, type PageOutcome } from './settings-page.ts';

const path = '/settings/';

interface ProfileValues {
  name: string;
  email: string;
  comment: string;
}

/** A user's own name, e-mail address and comment. */
export function profilePages(profile: Pick<OwnProfile, 'record' | 'update'>): Operation[] {
  const show = async (call: Call, outcome: PageOutcome = {}, sent?: ProfileValues): Promise<AccessResponse> => {
    const record = await profile.record(call.caller);
    return settingsPage(call, {
      path,
      done: { saved: 'Your profile is saved.' },
      ...outcome,
      body: profileForm(call, record, { outcome, ...(sent === undefined ? {} : { sent }) }),
    });
  };
  const save = async (call: Call): Promise<AccessResponse> => {
    const fields = await call.request.fields();
    const sent = {
      name: textField(fields['name']),
      email: textField(fields['email']),
      comment: textField(fields['comment']),
    };
    return catchRefusal(
      async () => {
        // The field may stay empty for a user without an e-mail address.
        const { email } = await profile.record(call.caller);
        const { email: sentEmail, ...others } = sent;
        const change = email === null && sentEmail.trim() === '' ? others : sent;
        await profile.update(call, CheckedFields.ofBody(profileChangeFields, change).done());
        return seeOther(`${path}?done=saved`);
      },
      (refusal) => show(call, refusal, sent),
    );
  };
  return [
    settingsOperation({ method: 'GET', path, operationId: 'getProfilePage', handle: (call) => show(call) }),
    settingsOperation({ method: 'POST', path, operationId: 'postProfilePage', handle: save }),
  ];
}

function profileForm(
  call: Call,
  record: UserRecord,
  { outcome: { problems }, sent }: { outcome: PageOutcome; sent?: ProfileValues },
): Html {
  const { name, email, comment } = sent ?? { ...record, email: record.email ?? '' };
  return html`<section class="card" aria-labelledby="account"><h2 id="account">Account</h2>
<dl>
<dt>Username</dt><dd>${record.username}</dd>
<dt>Roles</dt><dd>${record.system_roles.map(({ display_name: role }) => role).join(', ') || 'none'}</dd>
<dt>Groups</dt><dd>${record.groups.join(', ') || 'none'}</dd>
<dt>Since</dt><dd>${timeElement(record.date_joined)}</dd>
<dt>Expires</dt><dd>${timeElement(record.date_expired)}</dd>
<dt>Last login</dt><dd>${timeElement(record.last_login)}</dd>
</dl></section>
<section class="card" aria-labelledby="you"><h2 id="you">About you</h2>
<form method="post" action="${path}">
${csrfField(pageUserOf(call).csrfToken)}
${field({ name: 'name', label: 'Name', value: name, autocomplete: 'name', required: true, maxLength: 128, problems })}
${field({ name: 'email', label: 'E-mail address', type: 'email', value: email, autocomplete: 'email', required: record.email !== null, maxLength: 254, problems })}
${field({ name: 'comment', label: 'Comment', value: comment, rows: 3, maxLength: 2000, problems })}
<button class="main" type="submit">Save</button>
</form></section>`;
}
