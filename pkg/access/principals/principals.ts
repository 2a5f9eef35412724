import { sql, type Selectable } from 'kysely';
import { PreparedStatement, type Placeholders } from '#pkg/database/index';
import { systemAuthenticated, systemMasters, type UserInfo } from '#pkg/identity/index';
import type { AccessDatabase } from '../access-database.ts';
import { accessQuery, type AccessTables } from '../access-tables.ts';
import type { OrgRole, Principal, SystemRole } from '../http/caller.ts';

/** A row as pg returns it; `org_roles` are `<org id>:<role>`. */
export type PrincipalRow = Selectable<AccessTables['access.principals']>;

const findValid = new PreparedStatement('principal', ($: Placeholders<{ userId: string }>) =>
  accessQuery
    .selectFrom('access.principals')
    .selectAll()
    .where('id', '=', $.userId)
    .where('is_valid', '=', sql.lit(true)),
);

/** Finds valid users. */
export class Principals {
  readonly #database: AccessDatabase;

  constructor(database: AccessDatabase) {
    this.#database = database;
  }

  /** Undefined if the user does not exist, or is disabled or expired. */
  async find(userId: string): Promise<Principal | undefined> {
    const { rows } = await findValid.run(this.#database.pool, { userId });
    return rows[0] === undefined ? undefined : principalOf(rows[0]);
  }
}

export function principalOf({
  id,
  username,
  groups,
  system_roles: systemRoles,
  org_roles: orgRoles,
}: PrincipalRow): Principal {
  const byOrg = new Map<string, Set<OrgRole>>();
  for (const text of orgRoles) {
    const at = text.indexOf(':');
    const org = text.slice(0, at);
    const roles = byOrg.get(org) ?? new Set();
    byOrg.set(org, roles.add(text.slice(at + 1) as OrgRole));
  }
  return { id, username, groups, systemRoles: new Set(systemRoles as SystemRole[]), orgRoles: byOrg };
}

/** May read everything on the content platform. */
export const auditorsGroup = 'svc:system-auditors';

/** The user on the content platform, where roles are groups. */
export function userInfoOf({ id, username, groups, systemRoles, orgRoles }: Principal): UserInfo {
  const ofOrgs = Array.from(orgRoles, ([org, roles]) => Array.from(roles, (role) => `org:${org}:${role}`)).flat();
  const ofSystem = [
    ...(systemRoles.has('SystemAdmin') ? [systemMasters] : []),
    ...(systemRoles.has('SystemAuditor') ? [auditorsGroup] : []),
  ];
  return { name: username, uid: id, groups: [...ofSystem, ...ofOrgs, ...groups, systemAuthenticated] };
}
