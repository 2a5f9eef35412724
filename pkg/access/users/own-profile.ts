import type { JsonObject } from '#pkg/apimachinery/index';
import { actorOf } from '../audit/audit.ts';
import { newFieldErrors, newAccessNotFound } from '../http/access-error.ts';
import type { Call } from '../http/operation.ts';
import { rootOrgId } from '../orgs/organization.ts';
import type { Caller } from '../http/caller.ts';
import { FieldReader } from '../records/field-reader.ts';
import { changedFields, setPassword, storeChange, type UserChange } from './change-user.ts';
import { readNewPassword } from './new-password.ts';
import { readRevocation, revokeCredentials } from './revoke-credentials.ts';
import { presentUser, type UserRow } from './user.ts';
import type { UserParts } from './user-parts.ts';
import { readComment, readEmail, readDisplayName } from './user-rules.ts';

export type OwnProfileParts = Omit<UserParts, 'organizations' | 'isSubject' | 'names'>;

/** What people do with their own account. */
export class OwnProfile {
  readonly #parts: OwnProfileParts;

  constructor(parts: OwnProfileParts) {
    this.#parts = parts;
  }

  /** With the roles in every organization. */
  async record({ id }: Pick<Caller, 'id'>): Promise<object> {
    const user = await this.#parts.users.findRecord(id);
    if (user === undefined) throw newAccessNotFound();
    return presentUser(user, rootOrgId);
  }

  /** Of `name`, `email` and `comment`; all else is ignored. `isWhole`: PUT, which must have the first two. */
  async update(call: Call, fields: JsonObject, { isWhole }: { isWhole: boolean }): Promise<void> {
    const reader = FieldReader.ofBody(fields);
    const change: UserChange = {
      name: readDisplayName(reader, isWhole),
      email: readEmail(reader, isWhole),
      comment: readComment(reader),
    };
    reader.done();
    const { id, username } = call.caller;
    await storeChange({ id, change, parts: this.#parts }, async (on) => {
      await this.#parts.audit.operate(
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
   * `old_password`, `new_password`, `new_password_again`. Every other session ends, and all Bearer tokens, the caller's
   * own among them; with `revoke_credentials` every other credential, too. A wrong old password counts as a failed
   * login does: who has found an open session is not to guess any longer than others.
   */
  async changePassword(call: Call, fields: JsonObject): Promise<{ isRevoking: boolean }> {
    const { caller, request } = call;
    const { users, login, database, hasher, audit } = this.#parts;
    const user = await users.find(caller.id);
    if (user === undefined) throw newAccessNotFound();
    const { old, fresh, isRevoking } = readPasswords(fields, user);
    const isRight = await login.confirmPassword({ username: user.username, password: old, address: request.address });
    if (!isRight) throw newFieldErrors({ old_password: ['This is not your password.'] });
    const passwordHash = await hasher.hash(fresh);
    await database.transaction(async (on) => {
      const locked = await users.lock(user.id, on);
      // What was confirmed is not the password any longer: somebody else has changed it meanwhile.
      if (locked?.password_changed?.getTime() !== user.password_changed?.getTime())
        throw newFieldErrors({ old_password: ['The password has just been changed.'] });
      await setPassword({ id: user.id, passwordHash, keep: caller.session?.id }, this.#parts, on);
      if (isRevoking) await revokeCredentials(user, call, this.#parts, on);
      await audit.operate(
        { ...actorOf(call), action: 'change_password', resourceType: 'user', resource: user.username },
        on,
      );
    });
    return { isRevoking };
  }
}

function readPasswords(fields: JsonObject, user: UserRow): { old: string; fresh: string; isRevoking: boolean } {
  const reader = FieldReader.ofBody(fields);
  const old = reader.text('old_password', { isRequired: true, isExact: true, longest: 4096 });
  const fresh = readNewPassword(reader, 'new_password', user, true);
  const again = reader.text('new_password_again', { isRequired: true, isExact: true, longest: 4096 });
  if (fresh !== undefined && again !== undefined && fresh !== again)
    reader.refuse('new_password_again', 'The two passwords are not the same.');
  const isRevoking = readRevocation(reader, { hasPassword: true }) ?? false;
  reader.done();
  return { old: old!, fresh: fresh!, isRevoking };
}
