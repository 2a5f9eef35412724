import { sql } from 'kysely';
import { accessQuery } from '../access-tables.ts';
import { Type, type Static, type TProperties } from 'typebox';
import { timestamp, uuid } from '../operations/field-schemas.ts';
import { recordOf } from '../operations/record-of.ts';
import { findRole, type AccessRole, type RoleName } from '../principals/role.ts';

/** A user's role: in the whole system, or in one organization. */
export interface Binding {
  id: string;
  user_id: string;
  username: string;
  user_name: string;
  role: RoleName;
  created_by: string;
  date_created: Date;
  /** Null for the whole system. */
  org_id: string | null;
  org_name: string | null;
}

export type RoleScope = AccessRole['scope'];

export const bindingTable = (scope: RoleScope) => `access.${scope}_role_bindings` as const;

/** Bindings with the names of their user and organization; aliases `b`, `u` and `o` for conditions. */
export function selectBindings(scope: RoleScope) {
  const isOrg = scope === 'org';
  return accessQuery
    .selectFrom(accessQuery.dynamic.table(bindingTable(scope)).as('b'))
    .innerJoin('access.users as u', 'u.id', 'b.user_id')
    .$if(isOrg, (rows) => rows.innerJoin('access.organizations as o', (join) => join.on(sql<boolean>`o.id = b.org_id`)))
    .select(['b.id', 'b.user_id', 'u.username', 'u.name as user_name', 'b.role', 'b.created_by', 'b.date_created'])
    .select([
      (isOrg ? sql<string | null>`b.org_id` : sql<string | null>`NULL`).as('org_id'),
      (isOrg ? sql<string | null>`o.name` : sql<string | null>`NULL`).as('org_name'),
    ])
    .$narrowType<{ role: RoleName }>();
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

/** The record in the API: references as ids, as in a POST, and as names. */
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

/** Name of a binding in the audit. */
export const titleOf = ({ username, role, org_name }: Pick<Binding, 'username' | 'role' | 'org_name'>): string =>
  `${username}: ${role}${org_name === null ? '' : ` in ${org_name}`}`;
