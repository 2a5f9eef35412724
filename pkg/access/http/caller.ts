import type { Credential, SessionProof } from './credential.ts';
import type { OrgRole, Principal } from './principal.ts';

export type * from './principal.ts';

/** Who asks, and by which credential. */
export interface Caller extends Principal {
  readonly scheme: Credential['scheme'];
  readonly session?: SessionProof;
  /** By an access key that may be used from some addresses only. */
  readonly isAddressLimited?: boolean;
}

export const isAdministrator = ({ systemRoles }: Principal): boolean => systemRoles.has('SystemAdmin');
/** May see everything. */
export const isAuditor = ({ systemRoles }: Principal): boolean =>
  systemRoles.has('SystemAdmin') || systemRoles.has('SystemAuditor');
/** In one organization. SystemAdmin is OrgAdmin of every one, SystemAuditor OrgAuditor. */
export const holdsIn = ({ orgRoles, systemRoles }: Principal, orgId: string, ...roles: readonly OrgRole[]): boolean =>
  roles.some(
    (role) =>
      orgRoles.get(orgId)?.has(role) === true ||
      (role === 'OrgAdmin' && systemRoles.has('SystemAdmin')) ||
      (role === 'OrgAuditor' && systemRoles.has('SystemAuditor')),
  );
