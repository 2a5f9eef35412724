import type { AccessResponse, Call, Operation } from '../../operations/operation.ts';
import { CheckedFields } from '../../operations/checked-fields.ts';
import { passwordChangeFields, type OwnProfile } from '../../users/own-profile.ts';
import { revokeField } from '../../users/revoke-credentials.ts';
import { choiceField, field } from '../form-fields.ts';
import { html } from '../html.ts';
import { csrfField, seeOther } from '../page.ts';
import { catchRefusal } from '../form-refusal.ts';
import { pageUserOf, settingsOperation } from './settings-operation.ts';
import { settingsPage, type PageOutcome } from './settings-page.ts';

const path = '/settings/password/';

/** Page to change the password; it never shows submitted values again. */
export function passwordPages(profile: Pick<OwnProfile, 'changePassword'>): Operation[] {
  const change = (call: Call): Promise<AccessResponse> =>
    catchRefusal(
      async () => {
        const { isRevoking } = await profile.changePassword(
          call,
          CheckedFields.ofBody(passwordChangeFields, await call.request.fields()),
        );
        return seeOther(`${path}?done=${isRevoking ? 'revoked' : 'changed'}`);
      },
      async (refusal) =>
        show(call, { ...refusal, isRevoking: (await call.request.fields())[revokeField] !== undefined }),
    );
  return [
    settingsOperation({
      method: 'GET',
      path,
      operationId: 'getPasswordPage',
      handle: (call) => Promise.resolve(show(call)),
    }),
    settingsOperation({ method: 'POST', path, operationId: 'postPasswordPage', handle: change }),
  ];
}

function show(
  call: Call,
  { isRevoking = false, ...outcome }: PageOutcome & { isRevoking?: boolean } = {},
): AccessResponse {
  const { problems } = outcome;
  const { username, csrfToken } = pageUserOf(call);
  const done = {
    changed: 'Your password is changed. Your other sessions have ended, and so have all Bearer tokens.',
    revoked:
      'Your password is changed. Your other sessions have ended, and so have all Bearer tokens, personal tokens, access keys and the private token.',
  };
  return settingsPage(call, {
    path,
    done,
    ...outcome,
    body: html`<section class="card" aria-labelledby="change"><h2 id="change">Change your password</h2>
<form method="post" action="${path}">
${csrfField(csrfToken)}
<input type="text" name="username" value="${username}" autocomplete="username" readonly hidden>
${field({ name: 'old_password', label: 'Current password', type: 'password', autocomplete: 'current-password', required: true, problems })}
${field({ name: 'new_password', label: 'New password', type: 'password', autocomplete: 'new-password', hint: 'At least 8 characters, and none of the passwords that everybody tries first.', required: true, problems })}
${field({ name: 'new_password_again', label: 'New password again', type: 'password', autocomplete: 'new-password', required: true, problems })}
${choiceField({ type: 'checkbox', name: revokeField, id: revokeField, label: 'End my personal tokens, access keys and private token, too: somebody else may know them', value: 'true', isChecked: isRevoking })}
<p data-reveal>Your other sessions end, and all Bearer tokens. Personal tokens, access keys and the private token stay unless you tick the box.</p>
<button class="main" type="submit">Change password</button>
</form></section>`,
  });
}
