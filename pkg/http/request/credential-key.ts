import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Identifies a credential across requests. */
export interface CredentialKey {
  /** A hash or a name, never the secret itself. */
  readonly key: string;
  /** Not secret, for example the id of a signing key: it counts as verified only together with the client address. */
  readonly isPublic: boolean;
}

/** Undefined for a request without a credential. Must be fast: it is called for each request. */
export type CredentialReader = (headers: IncomingHttpHeaders) => CredentialKey | undefined;

/** The key of a secret that each request contains. */
export function secretKey(secret: string): CredentialKey {
  return { key: hash('sha256', secret, 'base64'), isPublic: false };
}

/**
 * The key of the Authorization header. Case of the scheme and spaces do not matter: the same credential has one key.
 */
export const authorizationKey: CredentialReader = ({ authorization }) => {
  if (authorization === undefined) return undefined;
  const [scheme = '', ...rest] = authorization.trim().split(/\s+/);
  return secretKey(`${scheme.toLowerCase()} ${rest.join(' ')}`);
};
