import type { Principal } from './principal.ts';
import type { AccessRequest } from './access-request.ts';

/** Whose credential it was. */
export interface Proof {
  readonly userId: string;
  /** Its user, where they were read together with it, and may come in. */
  readonly principal?: Principal;
  /** Of a session of the pages. */
  readonly session?: SessionProof;
  /** Of an access key that may be used from some addresses only. */
  readonly isAddressLimited?: boolean;
}

export interface SessionProof {
  readonly id: string;
  /** Is it the CSRF token of this session? In constant time. */
  isCsrfToken(text: string): boolean;
}

/** One of the ways to say who asks. */
export interface Credential {
  readonly scheme: 'signature' | 'private_token' | 'bearer' | 'session';
  /** For WWW-Authenticate, where HTTP has a word for it: `Bearer realm="api"`. */
  readonly challenge?: string;
  /** The first word of the `Authorization` header that it reads, in lower case; undefined where it reads another. */
  readonly word?: 'signature' | 'token' | 'bearer';
  /**
   * Undefined: the request carries none of this kind (a session that is no more counts so). Throws
   * `newAuthenticationFailed()` for one that is wrong or malformed. Without a principal it says nothing of whether its
   * user may still come in: `Principals` does.
   */
  authenticate(request: AccessRequest): Promise<Proof | undefined>;
}
