import { sql, type Expression, type RawBuilder, type Selectable } from 'kysely';
import type { AccessTables } from '../access-tables.ts';
import { presentRole, type RoleName } from '../principals/role.ts';
import { rootOrgId } from '../orgs/organization.ts';

/** As pg gives it, without what only a search reads. */
export type UserRow = Omit<Selectable<AccessTables['access.users']>, 'search_text'>;

/** What a record is made of, no secret among it. */
export interface UserWithRoles extends Omit<
  UserRow,
  'username_key' | 'email_key' | 'password_hash' | 'password_changed'
> {
  is_expired: boolean;
  system_roles: RoleName[];
  /** `<org id>:<role>` */
  org_roles: string[];
}

/** The columns of `UserWithRoles`, of `access.users u`. */
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

/** Of `access.users u`. */
export const isMemberOf = (orgId: string | Expression<string>): RawBuilder<boolean> =>
  sql`EXISTS (SELECT 1 FROM access.org_role_bindings m WHERE m.org_id = ${orgId}::uuid AND m.user_id = u.id)`;

/**
 * The record that clients see. Roles in organizations are those of the given one; of ROOT all of them, each with its
 * `org`.
 */
export function presentUser(user: UserWithRoles, orgId: string): object {
  const {
    id,
    username,
    name,
    email,
    is_active,
    is_expired,
    date_joined,
    date_expired,
    last_login,
    source,
    created_by,
    comment,
    groups,
    system_roles,
    org_roles,
  } = user;
  return {
    id,
    username,
    name,
    email,
    is_active,
    is_valid: is_active && !is_expired,
    is_expired,
    date_joined: date_joined.toISOString(),
    date_expired: date_expired?.toISOString() ?? null,
    last_login: last_login?.toISOString() ?? null,
    source,
    created_by,
    comment,
    mfa_enabled: false,
    groups,
    system_roles: system_roles.map(presentRole),
    org_roles: org_roles.flatMap((text) => presentOrgRole(text, orgId)),
  };
}

function presentOrgRole(text: string, orgId: string): object[] {
  const at = text.indexOf(':');
  const org = text.slice(0, at);
  const role = presentRole(text.slice(at + 1) as RoleName);
  if (orgId === rootOrgId) return [{ ...role, org }];
  return org === orgId ? [role] : [];
}
