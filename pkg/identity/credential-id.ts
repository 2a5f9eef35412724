import type { UserInfo } from './user-info.ts';

/**
 * Key in a user's `extra`: which credential authenticated the request, as `formatCredentialId` has it. Source: Kubernetes,
 * which has it for tokens of service accounts (`JTI=`) and certificates (`X509SHA256=`).
 */
export const credentialIdKey = 'authentication.kubernetes.io/credential-id';

/**
 * Kinds of credentials: a personal token, a session, a password, an access key, a private token, a token of a login.
 */
export type CredentialKind = 'PAT' | 'SESSION' | 'PASSWORD' | 'ACCESSKEY' | 'PRIVATETOKEN' | 'BEARERSHA256';

/**
 * `PAT=<uid>`: names a credential, and is no secret. `id` is that of the personal token, session or access key; the
 * user's for a kind of which a user has one; the first 16 hexadecimal digits of the hash for a token of a login.
 */
export function formatCredentialId(kind: CredentialKind, id: string): string {
  return `${kind}=${id}`;
}

export function withCredentialId(user: UserInfo, credentialId: string): UserInfo {
  return { ...user, extra: { ...user.extra, [credentialIdKey]: [credentialId] } };
}

/** '' if it is not known. */
export function credentialIdOf({ extra = {} }: UserInfo): string {
  return Object.hasOwn(extra, credentialIdKey) ? (extra[credentialIdKey]?.[0] ?? '') : '';
}
