import { sql, type Expression, type SqlBool } from 'kysely';
import { newPermissionDenied } from '../http/access-error.ts';
import type { ListSource } from '../http/list-answer.ts';
import type { Call } from '../http/operation.ts';
import { isRoot } from '../orgs/organization.ts';
import { askedOrg, selectOrg } from '../orgs/select-org.ts';
import { isAuditor, type Principal } from '../http/caller.ts';
import { FieldReader } from '../records/field-reader.ts';
import { keysetList, type KeysetSortKey } from '../records/keyset-list.ts';
import { readOrder } from '../records/read-order.ts';
import { presentBinding, selectBindings, type Binding, type RoleScope } from './binding.ts';
import { findRole } from '../principals/role.ts';
import type { RoleParts } from './role-parts.ts';

/** The first is the usual one: by the index. */
export const bindingOrders: ReadonlyMap<string, KeysetSortKey> = new Map([
  ['id', { expression: sql.ref('b.id'), type: 'uuid' }],
  ['date_created', { expression: sql.ref('b.date_created'), type: 'timestamptz' }],
  ['role', { expression: sql.ref('b.role'), type: 'text' }],
]);

/** Organizations whose bindings the caller may read; undefined: all, and those of the system. */
export function readableOrgs(caller: Principal): string[] | undefined {
  if (isAuditor(caller)) return undefined;
  return Array.from(caller.orgRoles).flatMap(([org, held]) =>
    held.has('OrgAdmin') || held.has('OrgAuditor') ? [org] : [],
  );
}

/**
 * Throws 403 for who may read none, or none of the organization that is asked for, and 400 by field for what the query
 * asks wrongly.
 */
export async function listBindings(scope: RoleScope, call: Call, parts: RoleParts): Promise<ListSource<Binding>> {
  const readable = readableOrgs(call.caller);
  if (readable !== undefined && (scope === 'system' || readable.length === 0)) throw newPermissionDenied();
  const reader = FieldReader.ofQuery(call.query);
  let rows = selectBindings(scope);
  const user = reader.text('user', { longest: 1000 });
  // Nobody of that name has nothing.
  if (user !== undefined) rows = rows.where('b.user_id', '=', sql.val((await parts.users.resolve(user)) ?? null));
  const role = reader.text('role', {
    check: (text) => (findRole(text)?.scope === scope ? undefined : 'There is no such role here.'),
  });
  if (role !== undefined) rows = rows.where('b.role', '=', findRole(role)!.name);
  const orgCondition = scope === 'org' ? await readOrgCondition(reader, readable, call, parts) : undefined;
  if (orgCondition !== undefined) rows = rows.where(orgCondition);
  const order = readOrder(reader, bindingOrders);
  reader.done();
  return keysetList({
    kysely: parts.database.kysely,
    rows,
    order,
    id: sql.ref('b.id'),
    present: presentBinding,
  });
}

/** Of the organization of the filter `org`, else of the one the call is made in, else of all that may be read. */
async function readOrgCondition(
  reader: FieldReader,
  readable: readonly string[] | undefined,
  call: Call,
  parts: RoleParts,
): Promise<Expression<SqlBool> | undefined> {
  const filter = reader.text('org', { longest: 1000 });
  const organization =
    filter !== undefined
      ? await parts.organizations.find(filter)
      : askedOrg(call) === undefined
        ? undefined
        : await selectOrg(call, parts.organizations);
  if (filter !== undefined && organization === undefined) reader.refuse('org', 'There is no such organization.');
  if (organization === undefined || isRoot(organization)) return readable && sql`b.org_id = ANY(${readable}::uuid[])`;
  if (readable !== undefined && !readable.includes(organization.id)) throw newPermissionDenied();
  return sql`b.org_id = ${organization.id}::uuid`;
}
