import type { Caller, Principal } from './caller.ts';
import { newAuthenticationFailed, newNotAuthenticated } from './access-error.ts';
import type { AccessRequest } from './access-request.ts';
import type { Credential, Proof } from './credential.ts';

export interface AuthenticationParts {
  /** In the order in which they decide. */
  credentials: readonly Credential[];
  /** Undefined where there is no such user, or who may not come in. */
  principals: { find(userId: string): Promise<Principal | undefined> };
}

const knownSchemes: ReadonlySet<string> = new Set(['signature', 'token', 'bearer']);

/**
 * Who asks; undefined where nobody says. The first credential that is presented decides. Throws 401 where one that was
 * sent is wrong, where two name different users, and for an Authorization header of another scheme or sent twice:
 * no request passes as anonymous by mistake.
 */
export async function authenticate(
  request: AccessRequest,
  { credentials, principals }: AuthenticationParts,
): Promise<Caller | undefined> {
  const word = readScheme(request);
  let isHeaderTaken = false;
  let first: { proof: Proof; credential: Credential } | undefined;
  for (const credential of credentials) {
    const proof = await credential.authenticate(request);
    if (proof === undefined) continue;
    isHeaderTaken ||= word !== undefined && credential.word === word;
    // A session that is somebody else's cannot be told from an attempt to act as both.
    if (first !== undefined && first.proof.userId !== proof.userId) throw newAuthenticationFailed();
    first ??= { proof, credential };
  }
  // An unreadable credential fails the request, even next to a readable one.
  if (word !== undefined && !isHeaderTaken) throw newAuthenticationFailed();
  if (first === undefined) return undefined;
  const { proof, credential } = first;
  const principal = proof.principal ?? (await principals.find(proof.userId));
  if (principal === undefined) {
    // As dead as if it had never been.
    if (credential.scheme === 'session') return undefined;
    throw newAuthenticationFailed();
  }
  const { session, isAddressLimited } = proof;
  return {
    ...principal,
    scheme: credential.scheme,
    ...(session === undefined ? {} : { session }),
    ...(isAddressLimited === undefined ? {} : { isAddressLimited }),
  };
}

/** The first word of the Authorization header, in lower case; undefined where there is no such header. */
function readScheme(request: AccessRequest): string | undefined {
  const { rawHeaders, headers } = request.context.request;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (rawHeaders[i]!.toLowerCase() === 'authorization') count += 1;
  // Node keeps the first, a proxy may have looked at the last.
  if (count > 1) throw newAuthenticationFailed();
  if (headers.authorization === undefined) return undefined;
  const scheme = headers.authorization.trim().split(/\s/, 1)[0]!.toLowerCase();
  if (!knownSchemes.has(scheme)) throw newNotAuthenticated();
  return scheme;
}

/** For WWW-Authenticate: every scheme that a 401 may be answered with. */
export function challengesOf(credentials: readonly Credential[]): string[] {
  return credentials.flatMap(({ challenge }) => (challenge === undefined ? [] : [challenge]));
}

/**
 * The one value after the scheme's word, for `Token` and `Bearer`; undefined for another scheme. Throws 401 where it is
 * not exactly one.
 */
export function valueOfScheme(request: AccessRequest, scheme: 'token' | 'bearer'): string | undefined {
  const words = request.header('authorization').trim().split(/\s+/);
  if (words[0]!.toLowerCase() !== scheme) return undefined;
  if (words.length !== 2 || words[1]!.length > 512) throw newAuthenticationFailed();
  return words[1]!;
}
