import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** What tells one credential from another over the requests that bring it. */
export interface CredentialKey {
  /** Nothing that could be used: a hash, or a name. */
  readonly key: string;
  /**
   * Anybody may know it, as the name of a key that signs: it counts as good only together with the address from which
   * it was.
   */
  readonly isPublic: boolean;
}

/** Undefined for a request that brings none. Must be quick: it is asked for each request. */
export type CredentialReader = (headers: IncomingHttpHeaders) => CredentialKey | undefined;

/** Of a secret that comes with each request. */
export function secretKey(secret: string): CredentialKey {
  return { key: hash('sha256', secret, 'base64'), isPublic: false };
}

/**
 * The header Authorization. Its scheme may be written in either case, with any spaces around: the same credential has
 * one key.
 */
export const authorizationKey: CredentialReader = ({ authorization }) => {
  if (authorization === undefined) return undefined;
  const [scheme = '', ...rest] = authorization.trim().split(/\s+/);
  return secretKey(`${scheme.toLowerCase()} ${rest.join(' ')}`);
};
