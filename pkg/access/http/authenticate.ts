import type { Caller, Principal } from './caller.ts';
import { newAuthenticationFailed, newNotAuthenticated } from './access-error.ts';
import type { AccessRequest } from './access-request.ts';
import type { Credential, CredentialProof } from './credential.ts';

export interface AuthenticationParts {
  /** In order of precedence. */
  credentials: readonly Credential[];
  /** Undefined if there is no such user, or the user is disabled or expired. */
  principals: { find(userId: string): Promise<Principal | undefined> };
}

const knownSchemes: ReadonlySet<string> = new Set(['signature', 'token', 'bearer']);

/**
 * The caller; undefined if the request has no credential. The first credential in the request decides. Throws 401 if
 * one of them is wrong, if two are of different users, and for an Authorization header with another scheme or sent
 * twice: no request counts as anonymous by mistake.
 */
export async function authenticate(
  request: AccessRequest,
  { credentials, principals }: AuthenticationParts,
): Promise<Caller | undefined> {
  const word = readScheme(request);
  let isHeaderTaken = false;
  let first: { proof: CredentialProof; credential: Credential } | undefined;
  for (const credential of credentials) {
    const proof = await credential.authenticate(request);
    if (proof === undefined) continue;
    isHeaderTaken ||= word !== undefined && credential.authorizationScheme === word;
    // Another user's session could be an attempt to act as both.
    if (first !== undefined && first.proof.userId !== proof.userId) throw newAuthenticationFailed();
    first ??= { proof, credential };
  }
  // An unreadable credential fails the request, even next to a readable one.
  if (word !== undefined && !isHeaderTaken) throw newAuthenticationFailed();
  if (first === undefined) return undefined;
  const { proof, credential } = first;
  const principal = proof.principal ?? (await principals.find(proof.userId));
  if (principal === undefined) {
    // The session of an invalid user counts as no session.
    if (credential.scheme === 'session') return undefined;
    throw newAuthenticationFailed();
  }
  const { credentialId, session, isAddressLimited } = proof;
  return {
    ...principal,
    scheme: credential.scheme,
    credentialId,
    ...(session === undefined ? {} : { session }),
    ...(isAddressLimited === undefined ? {} : { isAddressLimited }),
  };
}

/** The scheme of the Authorization header, in lower case; undefined if there is no such header. */
function readScheme(request: AccessRequest): string | undefined {
  const { rawHeaders, headers } = request.context.request;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.toLowerCase() === 'authorization') count += 1;
  // Node keeps the first header, while a proxy may have checked the last.
  if (count > 1) throw newAuthenticationFailed();
  if (headers.authorization === undefined) return undefined;
  const scheme = headers.authorization.trim().split(/\s/, 1)[0]!.toLowerCase();
  if (!knownSchemes.has(scheme)) throw newNotAuthenticated();
  return scheme;
}

/** Values of WWW-Authenticate: every scheme that has a challenge. */
export function challengesOf(credentials: readonly Credential[]): string[] {
  return credentials.flatMap(({ challenge }) => (challenge === undefined ? [] : [challenge]));
}

/**
 * The value after the scheme `Token` or `Bearer`; undefined for another scheme. Throws 401 unless there is exactly one
 * value.
 */
export function valueOfScheme(request: AccessRequest, scheme: 'token' | 'bearer'): string | undefined {
  const words = request.header('authorization').trim().split(/\s+/);
  if (words[0]!.toLowerCase() !== scheme) return undefined;
  if (words.length !== 2 || words[1]!.length > 512) throw newAuthenticationFailed();
  return words[1]!;
}
