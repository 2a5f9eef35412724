import { sql } from 'kysely';
import { Type, type Static } from 'typebox';
import { runQuery, type Queryable } from '#pkg/database/index';
import { isDuplicate } from '../access-database.ts';
import { accessQuery } from '../access-tables.ts';
import { actorOf } from '../audit/audit.ts';
import { newFieldErrors, newAccessNotFound, newPermissionDenied } from '../http/access-error.ts';
import { hasRoleIn, isAdministrator } from '../http/caller.ts';
import type { Call } from '../operations/operation.ts';
import { isRoot, type Organization } from '../orgs/organization.ts';
import { selectOrg } from '../orgs/select-org.ts';
import { findRole } from '../principals/role.ts';
import type { CheckedFields } from '../operations/checked-fields.ts';
import { line } from '../operations/field-schemas.ts';
import { refuseLastAdministrator } from '../users/refuse-last-administrator.ts';
import { bindingTable, selectBindings, titleOf, type Binding, type RoleScope } from './binding.ts';
import { ofScope, roleField } from './list-bindings.ts';
import type { RoleParts } from './role-parts.ts';

export const newBindingFields = (scope: RoleScope) =>
  ofScope(
    scope,
    Type.Object({
      org: Type.Optional(named('Id, or name; default the organization in which the call is made.')),
      user: named('Id, or name.'),
      role: roleField(scope, 'Id, or name.'),
    }),
  );
const named = (description: string) => line({ description, maxLength: 1000 });
type NewBindingFields = CheckedFields<Static<ReturnType<typeof newBindingFields>>>;

/** In the organization of `org`, else in that of the call. */
export async function createBinding(
  scope: RoleScope,
  call: Call,
  body: NewBindingFields,
  parts: RoleParts,
): Promise<Binding> {
  const organization = scope === 'system' ? undefined : await readOrganization(body, call, parts);
  checkWriter(call, organization?.id ?? null);
  const { user } = body.values;
  const userId = user === undefined ? undefined : await resolveFor(call, user, organization, parts);
  if (user !== undefined && userId === undefined) body.refuse('user', 'There is no such user.');
  const { role } = body.done();
  try {
    return await parts.database.transaction(async (on) => {
      const binding = await insertBinding(
        {
          scope,
          userId: userId!,
          role: findRole(role)!.name,
          orgId: organization?.id,
          createdBy: call.caller.username,
        },
        on,
      );
      await parts.audit.recordOperation(
        {
          ...actorOf(call),
          action: 'create',
          resourceType: `${scope}_role_binding`,
          resource: titleOf(binding),
          orgId: binding.org_id ?? undefined,
        },
        on,
      );
      return binding;
    });
  } catch (error) {
    if (isDuplicate(error)) throw newFieldErrors({ non_field_errors: ['The user has this role already.'] });
    throw error;
  }
}

/**
 * Finds a user that the caller may bind. Only SystemAdmin may add members; for others a non-member counts as unknown.
 */
async function resolveFor(
  { caller }: Call,
  text: string,
  organization: Organization | undefined,
  { users, database }: RoleParts,
): Promise<string | undefined> {
  const userId = await users.resolve(text);
  if (isAdministrator(caller)) return userId;
  const memberships = accessQuery
    .selectFrom('access.org_role_bindings')
    .select('id')
    // Also runs for an unknown user, to take the same time.
    .where('user_id', '=', sql.val(userId ?? null))
    .where('org_id', '=', sql.val(organization?.id ?? null))
    .limit(1);
  const { rows } = await runQuery(database.pool, memberships, 'binding-user-is-member');
  return rows.length === 0 ? undefined : userId;
}

/** The organization of `org`, which must exist and may have members. Undefined if invalid. */
async function readOrganization(
  body: NewBindingFields,
  call: Call,
  { organizations }: RoleParts,
): Promise<Organization | undefined> {
  const text = body.values.org;
  const organization =
    text !== undefined
      ? await organizations.find(text)
      : body.has('org')
        ? undefined
        : await selectOrg(call, organizations);
  if (text !== undefined && organization === undefined) body.refuse('org', 'There is no such organization.');
  if (organization === undefined || !isRoot(organization)) return organization;
  body.refuse('org', 'ROOT has no members of its own.');
  return undefined;
}

function checkWriter({ caller }: Pick<Call, 'caller'>, orgId: string | null): void {
  if (!isAdministrator(caller) && (orgId === null || !hasRoleIn(caller, orgId, 'OrgAdmin')))
    throw newPermissionDenied();
}

async function insertBinding(
  {
    scope,
    userId,
    role,
    orgId,
    createdBy,
  }: { scope: RoleScope; userId: string; role: string; orgId: string | undefined; createdBy: string },
  on: Queryable,
): Promise<Binding> {
  // What goes at this moment is not there: no broken reference.
  const user = accessQuery.selectFrom('access.users').select('id').where('id', '=', userId).forKeyShare();
  const { rows: found } = await runQuery(on, user, 'binding-user-lock');
  if (found.length === 0) throw newFieldErrors({ user: ['There is no such user.'] });
  if (orgId !== undefined) {
    const organization = accessQuery
      .selectFrom('access.organizations')
      .select('id')
      .where('id', '=', orgId)
      .forKeyShare();
    const { rows } = await runQuery(on, organization, 'binding-org-lock');
    if (rows.length === 0) throw newFieldErrors({ org: ['There is no such organization.'] });
  }
  const row = { user_id: userId, role, created_by: createdBy };
  const insert =
    orgId === undefined
      ? accessQuery.insertInto('access.system_role_bindings').values(row).returning('id')
      : accessQuery
          .insertInto('access.org_role_bindings')
          .values({ ...row, org_id: orgId })
          .returning('id');
  const { rows } = await runQuery<{ id: string }>(on, insert, `${scope}-binding-insert`);
  return (await findBinding(scope, rows[0]!.id, on))!;
}

export async function findBinding(scope: RoleScope, id: string, on: Queryable): Promise<Binding | undefined> {
  const { rows } = await runQuery(on, selectBindings(scope).where('b.id', '=', id), `${scope}-binding`);
  return rows[0];
}

/** Throws 403 for the role of the last administrator. */
export async function removeBinding(
  scope: RoleScope,
  call: Call,
  binding: Binding,
  { database, audit }: RoleParts,
): Promise<void> {
  checkWriter(call, binding.org_id);
  await database.transaction(async (on) => {
    if (binding.role === 'SystemAdmin') await refuseLastAdministrator(binding.user_id, on);
    const remove = accessQuery.deleteFrom(bindingTable(scope)).where('id', '=', binding.id);
    const { rowCount } = await runQuery(on, remove, `${scope}-binding-delete`);
    if (rowCount === 0) throw newAccessNotFound();
    await audit.recordOperation(
      {
        ...actorOf(call),
        action: 'delete',
        resourceType: `${scope}_role_binding`,
        resource: titleOf(binding),
        orgId: binding.org_id ?? undefined,
      },
      on,
    );
  });
}
