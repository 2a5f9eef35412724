export type SystemRole = 'SystemAdmin' | 'SystemAuditor' | 'SystemUser';
export type OrgRole = 'OrgAdmin' | 'OrgAuditor' | 'OrgUser';

export const rootOrgId = '00000000-0000-0000-0000-000000000000';
export const defaultOrgId = '00000000-0000-0000-0000-000000000002';

/** The model's facts about a user: what an administrator has set, nothing that a server computes. */
export interface Person {
  readonly username: string;
  readonly systemRoles: readonly SystemRole[];
  /** By organization id; ROOT has no members. */
  readonly orgRoles: Readonly<Record<string, readonly OrgRole[]>>;
  /** On the content platform. */
  readonly groups: readonly string[];
  /** Neither disabled nor expired: otherwise every credential is invalid. */
  readonly isAlive: boolean;
  /** A program with nothing but a personal token, of which it makes no further ones. */
  readonly isService?: true;
}

export function hasSystemRole(person: Person, ...roles: SystemRole[]): boolean {
  return roles.some((role) => person.systemRoles.includes(role));
}

/** Any role, if none is given. */
export function hasOrgRole(person: Person, org: string, ...roles: OrgRole[]): boolean {
  const held = person.orgRoles[org] ?? [];
  return roles.length === 0 ? held.length > 0 : roles.some((role) => held.includes(role));
}

export function orgsOf(person: Person): string[] {
  return Object.keys(person.orgRoles).filter((org) => hasOrgRole(person, org));
}

/** An organization's namespace on the content platform; ROOT has none. */
export function namespaceOf(org: string): string {
  return org === defaultOrgId ? 'default' : `org-${org}`;
}
