import { Type, type Static } from 'typebox';
import { timestamp, uuid } from '../operations/field-schemas.ts';
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

/** Rows of a table, with the names of what they refer to; `b`, `u` and `o` in conditions. */
export function bindingsFrom(scope: RoleScope): string {
  const join = `access.${scope}_role_bindings b JOIN access.users u ON u.id = b.user_id`;
  return scope === 'org' ? `${join} JOIN access.organizations o ON o.id = b.org_id` : join;
}

export function bindingColumns(scope: RoleScope): string {
  const org = scope === 'org' ? 'b.org_id, o.name AS org_name' : 'NULL AS org_id, NULL AS org_name';
  return `b.id, b.user_id, u.username, u.name AS user_name, b.role, b.created_by, b.date_created, ${org}`;
}

const fields = {
  id: uuid(),
  scope: Type.String(),
  user: uuid(),
  user_display: Type.String(),
  role: uuid(),
  role_name: Type.String(),
  role_display: Type.String(),
  created_by: Type.String(),
  date_created: timestamp(),
};
export const systemBindingRecord = Type.Object(fields);
export const orgBindingRecord = Type.Object({ ...fields, org: uuid(), org_name: Type.String() });

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
}: Binding): Static<typeof systemBindingRecord> {
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
