import type { Credential, SessionProof } from './credential.ts';
import type { OrgRole, Principal } from './principal.ts';

export type * from './principal.ts';

/** The user of a request, and their credential. */
export interface Caller extends Principal {
  readonly scheme: Credential['scheme'];
  /** As `formatCredentialId` has it, for the audit. */
  readonly credentialId: string;
  readonly session?: SessionProof;
  /** True for an access key that is limited to some addresses. */
  readonly isAddressLimited?: boolean;
}

export const isAdministrator = ({ systemRoles }: Principal): boolean => systemRoles.has('SystemAdmin');
/** May the user read everything? */
export const isAuditor = ({ systemRoles }: Principal): boolean =>
  systemRoles.has('SystemAdmin') || systemRoles.has('SystemAuditor');
/**
 * Has the user one of the roles in this organization? SystemAdmin is OrgAdmin of every one, SystemAuditor OrgAuditor.
 */
export const hasRoleIn = ({ orgRoles, systemRoles }: Principal, orgId: string, ...roles: readonly OrgRole[]): boolean =>
  roles.some(
    (role) =>
      orgRoles.get(orgId)?.has(role) === true ||
      (role === 'OrgAdmin' && systemRoles.has('SystemAdmin')) ||
      (role === 'OrgAuditor' && systemRoles.has('SystemAuditor')),
  );
