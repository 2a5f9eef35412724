import type { AccessDatabase } from '../access-database.ts';
import type { OrgRole, SystemRole } from '../http/caller.ts';
import { fold } from '../names/fold-case.ts';

export { defaultOrgId, rootOrgId } from '../orgs/organization.ts';

export interface TestUser {
  username: string;
  /** Default the username. */
  name?: string;
  /** Default `<username>@example.com`. */
  email?: string | null;
  passwordHash?: string;
  isActive?: boolean;
  dateExpired?: Date;
  groups?: readonly string[];
  /** Default SystemUser. */
  systemRoles?: readonly SystemRole[];
  /** By organization; default none. */
  orgRoles?: Readonly<Record<string, readonly OrgRole[]>>;
}

/** Inserts a user with roles, without any checks; returns the id. */
export async function addUser({ pool }: AccessDatabase, user: TestUser): Promise<string> {
  const {
    username,
    name = username,
    email = `${username}@example.com`,
    passwordHash,
    isActive = true,
    dateExpired,
    groups = [],
    systemRoles = ['SystemUser'],
    orgRoles = {},
  } = user;
  const { rows } = await pool.query<{ id: string }>(
    `INSERT INTO access.users (username, username_key, name, email, email_key, search_text, password_hash, is_active, date_expired, groups)
      VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING id`,
    [
      username,
      fold(username),
      name,
      email,
      email === null ? null : fold(email),
      fold(`${username}\n${name}\n${email ?? ''}`),
      passwordHash ?? null,
      isActive,
      dateExpired ?? null,
      groups,
    ],
  );
  const { id } = rows[0]!;
  await pool.query('INSERT INTO access.system_role_bindings (user_id, role) SELECT $1, unnest($2::text[])', [
    id,
    systemRoles,
  ]);
  for (const [org, roles] of Object.entries(orgRoles)) {
    await pool.query('INSERT INTO access.org_role_bindings (user_id, org_id, role) SELECT $1, $2, unnest($3::text[])', [
      id,
      org,
      roles,
    ]);
  }
  return id;
}
