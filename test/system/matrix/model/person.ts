export type SystemRole = 'SystemAdmin' | 'SystemAuditor' | 'SystemUser';
export type OrgRole = 'OrgAdmin' | 'OrgAuditor' | 'OrgUser';

export const rootOrgId = '00000000-0000-0000-0000-000000000000';
export const defaultOrgId = '00000000-0000-0000-0000-000000000002';

/** What the model knows of a user: what an administrator has said of them, and nothing that a server computes. */
export interface Person {
  readonly username: string;
  readonly systemRoles: readonly SystemRole[];
  /** By the organization's id; ROOT has no members. */
  readonly orgRoles: Readonly<Record<string, readonly OrgRole[]>>;
  /** On the content platform. */
  readonly groups: readonly string[];
  /** Not disabled and not expired: otherwise every credential is dead. */
  readonly isAlive: boolean;
}

export function hasSystemRole(person: Person, ...roles: SystemRole[]): boolean {
  return roles.some((role) => person.systemRoles.includes(role));
}

/** Any role there, where none is named. */
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
