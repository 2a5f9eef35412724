import type { AccessRequest } from './access-request.ts';

/** Whose credential it was. */
export interface Proof {
  readonly userId: string;
  /** Of a session of the pages. */
  readonly session?: SessionProof;
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
  /**
   * Undefined: the request carries none of this kind (a session that is no more counts so).
   * Throws `newAuthenticationFailed()` for one that is wrong or malformed. Says nothing of whether its user may still come in: `Principals` does.
   */
  authenticate(request: AccessRequest): Promise<Proof | undefined>;
}
