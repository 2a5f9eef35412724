import type { Credential, SessionProof } from '../http/credential.ts';

export type SystemRole = 'SystemAdmin' | 'SystemAuditor' | 'SystemUser';
export type OrgRole = 'OrgAdmin' | 'OrgAuditor' | 'OrgUser';

/** A user as every request sees them anew: what they hold at this moment. */
export interface Principal {
  readonly id: string;
  readonly username: string;
  /** Their own, on the content platform. */
  readonly groups: readonly string[];
  readonly systemRoles: ReadonlySet<SystemRole>;
  /** By organization. */
  readonly orgRoles: ReadonlyMap<string, ReadonlySet<OrgRole>>;
}

/** Who asks, and by which credential. */
export interface Caller extends Principal {
  readonly scheme: Credential['scheme'];
  readonly session?: SessionProof;
}

export const isAdministrator = ({ systemRoles }: Principal): boolean => systemRoles.has('SystemAdmin');
/** May see everything. */
export const isAuditor = ({ systemRoles }: Principal): boolean => systemRoles.has('SystemAdmin') || systemRoles.has('SystemAuditor');
export const holdsIn = ({ orgRoles }: Principal, orgId: string, ...roles: readonly OrgRole[]): boolean => roles.some((role) => orgRoles.get(orgId)?.has(role) === true);
