import type { Principal } from './principal.ts';
import type { AccessRequest } from './access-request.ts';

/** The result of a valid credential. */
export interface CredentialProof {
  readonly userId: string;
  /** As `formatCredentialId` has it. */
  readonly credentialId: string;
  /** Its user, if read in the same query and valid. */
  readonly principal?: Principal;
  /** Set for a session of the pages. */
  readonly session?: SessionProof;
  /** True for an access key that is limited to some addresses. */
  readonly isAddressLimited?: boolean;
}

export interface SessionProof {
  readonly id: string;
  /** Is it the CSRF token of this session? In constant time. */
  isCsrfToken(text: string): boolean;
}

/** One kind of credential. */
export interface Credential {
  readonly scheme: 'signature' | 'private_token' | 'bearer' | 'session';
  /** For WWW-Authenticate, if HTTP has such a scheme: `Bearer realm="api"`. */
  readonly challenge?: string;
  /** The scheme of the `Authorization` header that it reads, in lower case; undefined if it reads another header. */
  readonly authorizationScheme?: 'signature' | 'token' | 'bearer';
  /**
   * Undefined: the request has no credential of this kind (an ended session counts as none). Throws
   * `newAuthenticationFailed()` for a wrong or malformed one. A proof without a principal does not say whether its user
   * is valid: ask `Principals`.
   */
  authenticate(request: AccessRequest): Promise<CredentialProof | undefined>;
}
