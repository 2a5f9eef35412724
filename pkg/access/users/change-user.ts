import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery } from '../access-tables.ts';
import { actorOf } from '../audit/audit.ts';
import { newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import type { CheckedFields } from '../operations/checked-fields.ts';
import { flag, optionalTime } from '../operations/field-schemas.ts';
import { refuseLastAdministrator } from './refuse-last-administrator.ts';
import { searchText } from './create-user.ts';
import { fold } from '../names/fold-case.ts';
import { revocationFields, revokeCredentials } from './revoke-credentials.ts';
import { withUniqueFields } from './unique-fields.ts';
import type { UserRow } from './user.ts';
import type { UserParts } from './user-parts.ts';
import {
  commentField,
  displayNameField,
  emailField,
  groupsField,
  passwordField,
  passwordHint,
  usernameField,
} from './user-rules.ts';
import { checkPasswordRules } from '../login/check-password-rules.ts';

/** Changes of a user; undefined fields stay unchanged. */
export interface UserChange {
  name?: string | undefined;
  email?: string | undefined;
  comment?: string | undefined;
  is_active?: boolean | undefined;
  date_expired?: Date | null | undefined;
  groups?: string[] | undefined;
}

export const userFields = Type.Object({
  username: usernameField,
  email: emailField,
  name: displayNameField,
  comment: Type.Optional(commentField),
  is_active: Type.Optional(flag()),
  date_expired: Type.Optional(optionalTime()),
  groups: Type.Optional(groupsField),
  password: Type.Optional(passwordField({ description: passwordHint })),
  ...revocationFields('True by default, of oneself false.'),
});
export const userChangeFields = Type.Partial(userFields);
type UserChangeFields = CheckedFields<Static<typeof userChangeFields>>;

/**
 * Changes a user for an administrator. A new password, and disabling or expiring the user, end the user's sessions and
 * Bearer tokens for good. A new password of another user also revokes every other credential, unless
 * `revoke_credentials` is false.
 */
export async function changeUser(call: Call, id: string, body: UserChangeFields, parts: UserParts): Promise<void> {
  const { caller } = call;
  const user = await parts.users.find(id);
  if (user === undefined) throw newAccessNotFound();
  const { change, password, isRevoking = id !== caller.id } = readChange(body, user);
  const isOut =
    change.is_active === false || (change.date_expired instanceof Date && change.date_expired.getTime() <= Date.now());
  if (isOut && id === caller.id) throw newPermissionDenied('You cannot shut yourself out.');
  const passwordHash = password === undefined ? undefined : await parts.hasher.hash(password);
  await storeChange({ id, change, parts }, async (on) => {
    if (passwordHash !== undefined) await setPassword({ id, passwordHash }, parts, on);
    else if (isOut) await endLogins({ id }, parts, on);
    if (passwordHash !== undefined && isRevoking) await revokeCredentials(user, call, parts, on);
    const changed = [...changedFields(change), ...(passwordHash === undefined ? [] : ['password'])];
    await parts.audit.recordOperation(
      { ...actorOf(call), action: 'update', resourceType: 'user', resource: user.username, detail: changed.join(', ') },
      on,
    );
  });
}

function readChange(
  body: UserChangeFields,
  user: UserRow,
): { change: UserChange; password: string | undefined; isRevoking: boolean | undefined } {
  const { username, email, password } = body.values;
  if (username !== undefined && username !== user.username) body.refuse('username', 'The username cannot be changed.');
  body.refuse('password', ...checkPasswordRules(password, { username: user.username, email: email ?? user.email }));
  if (body.values.revoke_credentials === true && !body.has('password'))
    body.refuse('revoke_credentials', 'This goes with a new password only.');
  const { name, comment, is_active, date_expired, groups, revoke_credentials: isRevoking } = body.done();
  const change = { name, email, comment, is_active, date_expired: unlessSame(date_expired, user.date_expired), groups };
  return { change, password, isRevoking };
}

/** Undefined if a client sends the current value back. */
function unlessSame(wanted: Date | null | undefined, present: Date | null): Date | null | undefined {
  return wanted?.getTime() === present?.getTime() ? undefined : wanted;
}

/**
 * Runs the change and `more` in one transaction. Throws 404 if there is no such user, 400 for the e-mail address of
 * another user, 403 if no administrator would remain.
 */
export async function storeChange(
  { id, change, parts }: { id: string; change: UserChange; parts: Pick<UserParts, 'database' | 'users'> },
  more: (on: Queryable) => Promise<void>,
): Promise<void> {
  const { database, users } = parts;
  // A username is never changed: only the address can be a duplicate.
  const keys = { id, username_key: '', email_key: change.email === undefined ? null : fold(change.email) };
  await withUniqueFields(database.pool, keys, () =>
    database.transaction(async (on) => {
      if (change.is_active === false || change.date_expired instanceof Date) await refuseLastAdministrator(id, on);
      const user = await users.lock(id, on);
      if (user === undefined) throw newAccessNotFound();
      await updateUser(
        { ...user, ...Object.fromEntries(changedFields(change).map((name) => [name, change[name]])) },
        on,
      );
      await more(on);
    }),
  );
}

export function changedFields(change: UserChange): (keyof UserChange)[] {
  return (Object.keys(change) as (keyof UserChange)[]).filter((name) => change[name] !== undefined);
}

async function updateUser(
  { id, username, name, email, comment, is_active, date_expired, groups }: UserRow,
  on: Queryable,
): Promise<void> {
  const update = accessQuery
    .updateTable('access.users')
    .set({
      name,
      email,
      email_key: email === null ? null : fold(email),
      search_text: searchText({ username, name, email }),
      comment,
      is_active,
      date_expired,
      groups,
    })
    .where('id', '=', id);
  await runQuery(on, update, 'user-update');
}

/** Also ends the user's logins; `keep`: except this session. */
export async function setPassword(
  { id, passwordHash, keep }: { id: string; passwordHash: string; keep?: string | undefined },
  { sessions, bearerTokens }: Pick<UserParts, 'sessions' | 'bearerTokens'>,
  on: Queryable,
): Promise<void> {
  const update = accessQuery
    .updateTable('access.users')
    .set({ password_hash: passwordHash, password_changed: sql<Date>`clock_timestamp()` })
    .where('id', '=', id);
  await runQuery(on, update, 'user-password');
  await endLogins({ id, keep }, { sessions, bearerTokens }, on);
}

/** Call it after the update of the user. */
async function endLogins(
  { id, keep }: { id: string; keep?: string | undefined },
  { sessions, bearerTokens }: Pick<UserParts, 'sessions' | 'bearerTokens'>,
  on: Queryable,
): Promise<void> {
  await sessions.endAll(id, keep === undefined ? {} : { except: keep }, on);
  await bearerTokens.revokeAll(id, on);
}
