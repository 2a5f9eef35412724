import { Type, type Static, type TProperties } from 'typebox';
import { timestamp, uuid } from '../operations/field-schemas.ts';
import { recordOf } from '../operations/record-of.ts';
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

const ofOrg = { org: uuid(), org_name: Type.String() };
const record = <Fields extends TProperties>(fields: Fields) =>
  Type.Object({
    id: uuid(),
    scope: Type.String(),
    user: uuid(),
    user_display: Type.String(),
    role: uuid(),
    role_name: Type.String(),
    role_display: Type.String(),
    ...fields,
    created_by: Type.String(),
    date_created: timestamp(),
  });
export const bindingRecord = { system: record({}), org: record(ofOrg) };

export type BindingRecord = Static<typeof bindingRecord.system>;

/** The record that clients see: what it refers to by id, as it is given in a POST, and in words. */
export function presentBinding(binding: Binding): BindingRecord {
  const { id: roleId, display_name, scope } = findRole(binding.role)!;
  return recordOf(bindingRecord[scope], binding, {
    scope,
    user: binding.user_id,
    user_display: `${binding.user_name} (${binding.username})`,
    role: roleId,
    role_name: binding.role,
    role_display: display_name,
    ...(binding.org_id === null ? {} : { org: binding.org_id }),
  });
}

/** For the audit. */
export const titleOf = ({ username, role, org_name }: Pick<Binding, 'username' | 'role' | 'org_name'>): string =>
  `${username}: ${role}${org_name === null ? '' : ` in ${org_name}`}`;
