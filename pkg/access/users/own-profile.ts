import { Type, type Static } from 'typebox';
import { actorOf } from '../audit/audit.ts';
import { newFieldErrors, newAccessNotFound } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import { rootOrgId } from '../orgs/organization.ts';
import type { Caller } from '../http/caller.ts';
import type { CheckedFields } from '../operations/checked-fields.ts';
import { changedFields, setPassword, storeChange } from './change-user.ts';
import { revocationFields, revokeCredentials } from './revoke-credentials.ts';
import { presentUser, type UserRecord, type UserRow } from './user.ts';
import type { UserParts } from './user-parts.ts';
import { commentField, displayNameField, emailField, passwordField } from './user-rules.ts';
import { checkPasswordRules } from '../login/check-password-rules.ts';

export type OwnProfileParts = Omit<UserParts, 'organizations' | 'isNamedByBinding' | 'names'>;

export const profileFields = Type.Object({
  name: displayNameField,
  email: emailField,
  comment: Type.Optional(commentField),
});
export const profileChangeFields = Type.Partial(profileFields);
export const passwordChangeFields = Type.Object({
  old_password: passwordField(),
  new_password: passwordField(),
  new_password_again: passwordField(),
  ...revocationFields('False by default.'),
});
type PasswordChange = Static<typeof passwordChangeFields>;

/** Operations of users on their own account. */
export class OwnProfile {
  readonly #parts: OwnProfileParts;

  constructor(parts: OwnProfileParts) {
    this.#parts = parts;
  }

  /** Includes the roles in every organization. */
  async record({ id }: Pick<Caller, 'id'>): Promise<UserRecord> {
    const user = await this.#parts.users.findRecord(id);
    if (user === undefined) throw newAccessNotFound();
    return presentUser(user, rootOrgId);
  }

  async update(call: Call, change: Static<typeof profileChangeFields>): Promise<void> {
    const { id, username } = call.caller;
    await storeChange({ id, change, parts: this.#parts }, async (on) => {
      await this.#parts.audit.recordOperation(
        {
          ...actorOf(call),
          action: 'update',
          resourceType: 'user',
          resource: username,
          detail: changedFields(change).join(', '),
        },
        on,
      );
    });
  }

  /**
   * Ends every other session and all Bearer tokens, including the caller's own; with `revoke_credentials` also every
   * other credential. A wrong old password counts as a failed login, so that a hijacked session cannot be used to guess
   * it.
   */
  async changePassword(call: Call, body: CheckedFields<PasswordChange>): Promise<{ isRevoking: boolean }> {
    const { caller, request } = call;
    const { users, login, database, hasher, audit } = this.#parts;
    const user = await users.find(caller.id);
    if (user === undefined) throw newAccessNotFound();
    const { old_password, new_password, revoke_credentials: isRevoking = false } = checkPasswords(body, user);
    const isRight = await login.confirmPassword({
      username: user.username,
      password: old_password,
      address: request.address,
      userAgent: request.userAgent,
      type: caller.session === undefined ? 'api' : 'web',
    });
    if (!isRight) throw newFieldErrors({ old_password: ['This is not your password.'] });
    const passwordHash = await hasher.hash(new_password);
    await database.transaction(async (on) => {
      const locked = await users.lock(user.id, on);
      // The password was changed after it was confirmed.
      if (locked?.password_changed?.getTime() !== user.password_changed?.getTime())
        throw newFieldErrors({ old_password: ['The password has just been changed.'] });
      await setPassword({ id: user.id, passwordHash, keep: caller.session?.id }, this.#parts, on);
      if (isRevoking) await revokeCredentials(user, call, this.#parts, on);
      await audit.recordOperation(
        { ...actorOf(call), action: 'change_password', resourceType: 'user', resource: user.username },
        on,
      );
    });
    return { isRevoking };
  }
}

function checkPasswords(body: CheckedFields<PasswordChange>, user: UserRow): PasswordChange {
  const { new_password: fresh, new_password_again: again } = body.values;
  const faults = checkPasswordRules(fresh, user);
  body.refuse('new_password', ...faults);
  if (fresh !== undefined && faults.length === 0 && again !== undefined && fresh !== again)
    body.refuse('new_password_again', 'The two passwords are not the same.');
  return body.done();
}
