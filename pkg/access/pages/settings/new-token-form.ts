import { choiceField, field, select, type Problems } from '../form-fields.ts';
import { html, type Html } from '../html.ts';
import { csrfField } from '../page.ts';

/** The submitted values. */
export interface TokenForm {
  displayName: string;
  /** Lifetime; '' for no expiry. */
  days: string;
  isNarrowed: boolean;
  roles: readonly string[];
}

/** Each role's checkbox has its own field name, as only the last of several fields of one name is kept. */
export const rolePrefix = 'role:';

const blank: TokenForm = { displayName: '', days: '30', isNarrowed: false, roles: [] };
const lifetimes = [
  ['7', 'in 7 days'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['', 'never'],
] as const;

export interface NewTokenFormOptions {
  path: string;
  csrfToken: string;
  /** Roles to choose from. */
  roles: readonly string[];
  sent?: TokenForm;
  problems: Problems | undefined;
}

export function newTokenForm({ path, csrfToken, roles, sent = blank, problems = {} }: NewTokenFormOptions): Html {
  const wrong = problems['roles'] ?? [];
  const boxes = roles.map((role, i) =>
    choiceField({
      type: 'checkbox',
      name: rolePrefix + role,
      id: `role-${i}`,
      label: role,
      value: 'on',
      isChecked: sent.roles.includes(role),
    }),
  );
  return html`<section class="card" aria-labelledby="new"><h2 id="new">New personal token</h2>
<form method="post" action="${path}">
${csrfField(csrfToken)}
${field({ name: 'displayName', label: 'What it is for', value: sent.displayName, hint: 'So that you know it again, for example: backup of the shop.', maxLength: 253, problems })}
${select({ name: 'expiresAt', label: 'Expires', value: sent.days, options: lifetimes, problems })}
<fieldset ${wrong.length > 0 && html`aria-describedby="roles-wrong"`}><legend>What it may do</legend>
${wrong.length > 0 && html`<p class="wrong" id="roles-wrong">${wrong.join(' ')}</p>`}
${choiceField({ type: 'radio', name: 'scope', id: 'scope-all', label: 'Everything that I may do', value: 'all', isChecked: !sent.isNarrowed })}
${roles.length > 0 && choiceField({ type: 'radio', name: 'scope', id: 'scope-roles', label: 'Only what these roles permit:', value: 'roles', isChecked: sent.isNarrowed })}
${roles.length > 0 && html`<div class="choices" role="group" aria-label="Roles">${boxes}</div>`}
</fieldset>
<button class="main" type="submit">Create personal token</button>
</form></section>`;
}
