import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What tells one credential from another over the requests that bring it. */
export interface CredentialKey {
  /** Nothing that could be used: a hash, or a name. */
  readonly key: string;
  /** Anybody may know it, as the name of a key that signs: it counts as good only together with the address from which it was. */
  readonly isPublic: boolean;
}

/** Undefined for a request that brings none. Must be quick: it is asked for each request. */
export type CredentialReader = (headers: IncomingHttpHeaders) => CredentialKey | undefined;

/** Of a secret that comes with each request. */
export function secretKey(secret: string): CredentialKey {
  return { key: hash('sha256', secret, 'base64'), isPublic: false };
}

/** The header Authorization as it is. */
export const authorizationKey: CredentialReader = ({ authorization }) => (authorization === undefined ? undefined : secretKey(authorization));
