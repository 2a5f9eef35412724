import { sql, type Expression, type SqlBool } from 'kysely';
import { Type, type Static, type TObject } from 'typebox';
import { newPermissionDenied } from '../http/access-error.ts';
import type { ListSource } from '../operations/list-answer.ts';
import type { Call } from '../operations/operation.ts';
import { isRoot } from '../orgs/organization.ts';
import { requestedOrg, selectOrg } from '../orgs/select-org.ts';
import { isAuditor, type Principal } from '../http/caller.ts';
import type { CheckedFields } from '../operations/checked-fields.ts';
import { line } from '../operations/field-schemas.ts';
import { keysetList, type KeysetSortKey } from '../operations/keyset-list.ts';
import { orderField, orderOf } from '../operations/order-field.ts';
import { presentBinding, selectBindings, type Binding, type BindingRecord, type RoleScope } from './binding.ts';
import { findRole } from '../principals/role.ts';
import type { RoleParts } from './role-parts.ts';

/** The first is the default, and has an index. */
export const bindingOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['id', { expression: sql.ref('b.id'), type: 'uuid' }],
  ['date_created', { expression: sql.ref('b.date_created'), type: 'timestamptz' }],
  ['role', { expression: sql.ref('b.role'), type: 'text' }],
]);

/** Organizations whose bindings the caller may read; undefined: all, and system bindings. */
export function readableOrgs(caller: Principal): string[] | undefined {
  if (isAuditor(caller)) return undefined;
  return Array.from(caller.orgRoles).flatMap(([org, held]) =>
    held.has('OrgAdmin') || held.has('OrgAuditor') ? [org] : [],
  );
}

/** Field for a role of this scope, by id or name. */
export const roleField = (scope: RoleScope, description: string) =>
  line({
    description,
    fault: (text) => (findRole(text)?.scope === scope ? undefined : 'There is no such role here.'),
  });

/** Omits the field `org` for system bindings. */
export const ofScope = <Fields extends TObject>(scope: RoleScope, fields: Fields): Fields =>
  scope === 'org' ? fields : (Type.Omit(fields, ['org']) as TObject as Fields);

export const bindingFilters = (scope: RoleScope) =>
  ofScope(
    scope,
    Type.Object({
      user: Type.Optional(line({ description: 'Of this user: id or username.', maxLength: 1000 })),
      role: Type.Optional(roleField(scope, 'Of this role: id or name.')),
      org: Type.Optional(line({ description: 'In this organization: id or name.', maxLength: 1000 })),
      order: orderField(bindingOrders),
    }),
  );
type BindingFilters = CheckedFields<Static<ReturnType<typeof bindingFilters>>>;

/** Throws 403 for an organization whose bindings the caller may not read, and 400 by field for an invalid query. */
export async function listBindings(
  scope: RoleScope,
  call: Call,
  query: BindingFilters,
  parts: RoleParts,
): Promise<ListSource<Binding, BindingRecord>> {
  const readable = readableOrgs(call.caller);
  let rows = selectBindings(scope);
  const { user, role } = query.values;
  // An unknown user has no bindings.
  if (user !== undefined) rows = rows.where('b.user_id', '=', sql.val((await parts.users.resolve(user)) ?? null));
  if (role !== undefined) rows = rows.where('b.role', '=', findRole(role)!.name);
  const orgCondition = scope === 'org' ? await readOrgCondition(query, readable, call, parts) : undefined;
  if (orgCondition !== undefined) rows = rows.where(orgCondition);
  const order = orderOf(query.done().order, bindingOrders);
  return keysetList({
    kysely: parts.database.kysely,
    rows,
    order,
    id: sql.ref('b.id'),
    present: presentBinding,
  });
}

/** Condition on the organization: of the filter `org`, else of the call, else all that the caller may read. */
async function readOrgCondition(
  query: BindingFilters,
  readable: readonly string[] | undefined,
  call: Call,
  parts: RoleParts,
): Promise<Expression<SqlBool> | undefined> {
  const filter = query.values.org;
  const organization =
    filter !== undefined
      ? await parts.organizations.find(filter)
      : requestedOrg(call) === undefined
        ? undefined
        : await selectOrg(call, parts.organizations);
  if (filter !== undefined && organization === undefined) query.refuse('org', 'There is no such organization.');
  if (organization === undefined || isRoot(organization)) return readable && sql`b.org_id = ANY(${readable}::uuid[])`;
  if (readable !== undefined && !readable.includes(organization.id)) throw newPermissionDenied();
  return sql`b.org_id = ${organization.id}::uuid`;
}
