import { sql } from 'kysely';
import { builder } from '../access-tables.ts';
import { findRole, type AccessRole, type RoleName } from '../principals/role.ts';

/** A role that a user has: in the system as a whole, or in one organization. */
export interface Binding {
  id: string;
  user_id: string;
  username: string;
  user_name: string;
  role: RoleName;
  created_by: string;
  date_created: Date;
  /** Null for the system as a whole. */
  org_id: string | null;
  org_name: string | null;
}

export type RoleScope = AccessRole['scope'];

export const bindingTable = (scope: RoleScope) => `access.${scope}_role_bindings` as const;

/** Rows of a table, with the names of what they refer to; `b`, `u` and `o` in conditions. */
export function selectBindings(scope: RoleScope) {
  const isOrg = scope === 'org';
  return builder
    .selectFrom(builder.dynamic.table(bindingTable(scope)).as('b'))
    .innerJoin('access.users as u', 'u.id', 'b.user_id')
    .$if(isOrg, (rows) => rows.innerJoin('access.organizations as o', (join) => join.on(sql<boolean>`o.id = b.org_id`)))
    .select(['b.id', 'b.user_id', 'u.username', 'u.name as user_name', 'b.role', 'b.created_by', 'b.date_created'])
    .select([
      (isOrg ? sql<string | null>`b.org_id` : sql<string | null>`NULL`).as('org_id'),
      (isOrg ? sql<string | null>`o.name` : sql<string | null>`NULL`).as('org_name'),
    ])
    .$narrowType<{ role: RoleName }>();
}

/** The record that clients see: what it refers to by id, as it is given in a POST, and in words. */
export function presentBinding({
  id,
  user_id,
  username,
  user_name,
  role,
  created_by,
  date_created,
  org_id,
  org_name,
}: Binding): object {
  const { id: roleId, display_name, scope } = findRole(role)!;
  return {
    id,
    scope,
    user: user_id,
    user_display: `${user_name} (${username})`,
    role: roleId,
    role_name: role,
    role_display: display_name,
    ...(org_id === null ? {} : { org: org_id, org_name }),
    created_by,
    date_created: date_created.toISOString(),
  };
}

/** For the audit. */
export const titleOf = ({ username, role, org_name }: Pick<Binding, 'username' | 'role' | 'org_name'>): string =>
  `${username}: ${role}${org_name === null ? '' : ` in ${org_name}`}`;
