import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { runQuery, type Queryable } from '#pkg/database/index';
import { accessQuery } from '../access-tables.ts';
import { actorOf } from '../audit/audit.ts';
import { newOrgNotFound, newPermissionDenied, newAccessUnavailable } from '../http/access-error.ts';
import type { Call } from '../operations/operation.ts';
import { isRoot, type Organization } from '../orgs/organization.ts';
import { isAdministrator } from '../http/caller.ts';
import type { CheckedFields } from '../operations/checked-fields.ts';
import { flag, optionalTime } from '../operations/field-schemas.ts';
import { fold } from '../names/fold-case.ts';
import { newUsernameTaken, withUniqueFields } from './unique-fields.ts';
import type { UserWithRoles } from './user.ts';
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

export const newUserFields = Type.Object({
  username: usernameField,
  name: displayNameField,
  email: emailField,
  password: Type.Optional(passwordField({ description: passwordHint })),
  is_active: Type.Optional(flag()),
  date_expired: Type.Optional(optionalTime()),
  comment: Type.Optional(commentField),
  groups: Type.Optional(groupsField),
});
type NewUser = Static<typeof newUserFields>;

/**
 * Creates a user with role SystemUser, who becomes a member of the organization (unless it is ROOT) with OrgUser. An
 * OrgAdmin may not use names that may already hold rights: those of deleted users and of subjects of bindings.
 */
export async function createUser(
  call: Call,
  organization: Organization,
  body: CheckedFields<NewUser>,
  parts: UserParts,
): Promise<UserWithRoles> {
  const { caller } = call;
  const { username = '', email, password } = body.values;
  body.refuse('password', ...checkPasswordRules(password, { username, email }));
  const user = body.done();
  // A group may have any right on the content platform, also outside the organization.
  if (user.groups !== undefined && user.groups.length > 0 && !isAdministrator(caller))
    throw newPermissionDenied('Only a system administrator may give groups.');
  const mayReuse = isAdministrator(caller);
  if (!mayReuse) await refuseSubject(call, user.username, parts);
  const passwordHash = user.password === undefined ? null : await parts.hasher.hash(user.password);
  await parts.names.prepare();
  const keys = { username_key: fold(user.username), email_key: fold(user.email) };
  return withUniqueFields(parts.database.pool, keys, () =>
    parts.database.transaction(async (on) => {
      const id = await insertUser({ user, passwordHash, createdBy: caller.username }, on);
      await parts.names.claim('user', { id, name: user.username }, on);
      // After the insert, which waits for a concurrent deletion of a user of this name.
      if (!mayReuse) await refuseRetired(keys.username_key, on);
      if (!isRoot(organization)) await addMember(id, organization, caller.username, on);
      await parts.audit.recordOperation(
        { ...actorOf(call), action: 'create', resourceType: 'user', resource: user.username, orgId: organization.id },
        on,
      );
      return (await parts.users.findRecord(id, organization.id, on))!;
    }),
  );
}

/** The content platform binds by name. Throws 503 if it cannot be asked. */
async function refuseSubject({ request }: Call, username: string, { isNamedByBinding }: UserParts): Promise<void> {
  let isBound: boolean;
  try {
    isBound = await isNamedByBinding(username);
  } catch (error) {
    request.context.log.warn(
      { err: error },
      'could not check whether a binding names a new user; the user was not created',
    );
    throw newAccessUnavailable();
  }
  if (isBound) throw newUsernameTaken();
}

async function refuseRetired(usernameKey: string, on: Queryable): Promise<void> {
  const retired = accessQuery
    .selectFrom('access.retired_usernames')
    .select('username_key')
    .where('username_key', '=', usernameKey);
  const { rows } = await runQuery(on, retired, 'username-retired');
  if (rows.length > 0) throw newUsernameTaken();
}

async function insertUser(
  { user, passwordHash, createdBy }: { user: NewUser; passwordHash: string | null; createdBy: string },
  on: Queryable,
): Promise<string> {
  const { username, name, email, is_active = true, date_expired = null, comment = '', groups = [] } = user;
  const insert = accessQuery
    .with('inserted', (db) =>
      db
        .insertInto('access.users')
        .values({
          username,
          username_key: fold(username),
          name,
          email,
          email_key: fold(email),
          search_text: searchText({ username, name, email }),
          password_hash: passwordHash,
          password_changed: sql`CASE WHEN ${passwordHash}::text IS NULL THEN NULL ELSE now() END`,
          is_active,
          date_expired,
          comment,
          groups,
          created_by: createdBy,
        })
        .returning('id'),
    )
    .insertInto('access.system_role_bindings')
    .columns(['user_id', 'role', 'created_by'])
    .expression((eb) =>
      eb
        .selectFrom('inserted')
        .select((inserted) => ['id', inserted.val('SystemUser').as('role'), inserted.val(createdBy).as('created_by')]),
    )
    .returning('user_id as id');
  const { rows } = await runQuery(on, insert, 'user-insert');
  return rows[0]!.id;
}

/** Text for searches, which ignore case, independent of the database's locale. */
export function searchText({
  username,
  name,
  email,
}: {
  username: string;
  name: string;
  email: string | null;
}): string {
  return fold(`${username}\n${name}\n${email ?? ''}`);
}

async function addMember(userId: string, { id }: Organization, createdBy: string, on: Queryable): Promise<void> {
  // Asked of the row itself, so that an organization that goes at this moment is 404, and no broken reference.
  const insert = accessQuery
    .insertInto('access.org_role_bindings')
    .columns(['user_id', 'org_id', 'role', 'created_by'])
    .expression(
      accessQuery
        .selectFrom('access.organizations')
        .select((eb) => [
          eb.val(userId).as('user_id'),
          'id',
          eb.val('OrgUser').as('role'),
          eb.val(createdBy).as('created_by'),
        ])
        .where('id', '=', id)
        .forKeyShare(),
    );
  const { rowCount } = await runQuery(on, insert, 'member-insert');
  if (rowCount === 0) throw newOrgNotFound();
}
