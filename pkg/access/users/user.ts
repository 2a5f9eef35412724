import { sql, type Expression, type RawBuilder, type Selectable } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import { Type, type Static } from 'typebox';
import { nullable, timestamp, uuid } from '../operations/field-schemas.ts';
import { recordOf } from '../operations/record-of.ts';
import { presentRole, type RoleName } from '../principals/role.ts';
import { rootOrgId } from '../orgs/organization.ts';

/** A row as pg returns it, without the search column. */
export type UserRow = Omit<Selectable<AccessTables['access.users']>, 'search_text'>;

/** The data of a record, without secrets. */
export interface UserWithRoles extends Omit<
  UserRow,
  'username_key' | 'email_key' | 'password_hash' | 'password_changed'
> {
  is_expired: boolean;
  system_roles: RoleName[];
  /** `<org id>:<role>` */
  org_roles: string[];
}

/** The columns of `UserWithRoles`, from `access.users u`. */
export const userColumns = [
  'u.id',
  'u.username',
  'u.name',
  'u.email',
  'u.is_active',
  'u.date_joined',
  'u.date_expired',
  'u.last_login',
  'u.source',
  'u.created_by',
  'u.comment',
  'u.groups',
  sql<boolean>`coalesce(u.date_expired <= now(), false)`.as('is_expired'),
  sql<RoleName[]>`ARRAY(SELECT s.role FROM access.system_role_bindings s WHERE s.user_id = u.id ORDER BY s.role)`.as(
    'system_roles',
  ),
  sql<
    string[]
  >`ARRAY(SELECT o.org_id::text || ':' || o.role FROM access.org_role_bindings o WHERE o.user_id = u.id ORDER BY o.org_id, o.role)`.as(
    'org_roles',
  ),
] as const;

/** Condition on `access.users u`. */
export const isMemberOf = (orgId: string | Expression<string>): RawBuilder<boolean> =>
  sql`EXISTS (SELECT 1 FROM access.org_role_bindings m WHERE m.org_id = ${orgId}::uuid AND m.user_id = u.id)`;

const roleFields = { id: uuid(), name: Type.String(), display_name: Type.String() };
const orgRole = Type.Object({
  ...roleFields,
  org: Type.Optional(uuid({ description: 'Where roles of all organizations are listed.' })),
});
export const userRecord = Type.Object({
  id: uuid(),
  username: Type.String(),
  name: Type.String(),
  email: nullable(Type.String()),
  is_active: Type.Boolean(),
  is_valid: Type.Boolean({ description: 'Active and not expired.' }),
  is_expired: Type.Boolean(),
  date_joined: timestamp(),
  date_expired: nullable(timestamp()),
  last_login: nullable(timestamp()),
  source: Type.String(),
  created_by: Type.String(),
  comment: Type.String(),
  mfa_enabled: Type.Boolean(),
  groups: Type.Array(Type.String(), { description: 'Groups on the content platform.' }),
  system_roles: Type.Array(Type.Object(roleFields)),
  org_roles: Type.Array(orgRole, { description: 'In the selected organization.' }),
});
export type UserRecord = Static<typeof userRecord>;

/** The record in the API. Roles are those in the given organization; for ROOT all of them, each with its `org`. */
export function presentUser(user: UserWithRoles, orgId: string): UserRecord {
  return recordOf(userRecord, user, {
    is_valid: user.is_active && !user.is_expired,
    mfa_enabled: false,
    system_roles: user.system_roles.map(presentRole),
    org_roles: user.org_roles.flatMap((text) => presentOrgRole(text, orgId)),
  });
}

function presentOrgRole(text: string, orgId: string): UserRecord['org_roles'] {
  const at = text.indexOf(':');
  const org = text.slice(0, at);
  const role = presentRole(text.slice(at + 1) as RoleName);
  if (orgId === rootOrgId) return [{ ...role, org }];
  return org === orgId ? [role] : [];
}
