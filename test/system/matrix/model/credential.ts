import type { Person } from './person.ts';

/** The header fields that identify a user: `Authorization`, or for `message signature` those of RFC 9421. */
export type HeaderKind =
  'bearer' | 'private' | 'signature' | 'message signature' | 'personal' | 'basic' | 'unknown scheme';

/** One way to authenticate; the credential store has the secret for each user. */
export interface Credential {
  readonly name: string;
  /** With `fault` it was never valid, or no longer is. */
  readonly header?: { readonly kind: HeaderKind; readonly fault?: string };
  /** For a session: `another` means that of another user than the header's. */
  readonly session?: {
    readonly fault?: string;
    readonly another?: true;
    readonly csrf: 'header' | 'form' | 'wrong' | 'none';
    readonly origin: 'same' | 'foreign' | 'none';
  };
  /** A ClusterRole that restricts a personal token. */
  readonly restriction?: string;
}

/** The caller as a service sees them: a person, anonymous, or refused. */
export type Identity =
  { person: Person; via: 'header' | 'session' } | 'anonymous' | 'authentication_failed' | 'not_authenticated';

/**
 * Contract access-api.md, section 3. An invalid session counts as absent; an invalid header does not. Personal tokens
 * are valid for the content platform and `/metrics`; elsewhere they are unknown Bearer tokens.
 */
export function identifyOnAccess(
  { header, session }: Credential,
  person: Person,
  another: Person,
  path: string,
): Identity {
  const holder = session?.another === true ? another : person;
  const isSessionGood = session !== undefined && session.fault === undefined && holder.isAlive;
  if (header === undefined) return isSessionGood ? { person: holder, via: 'session' } : 'anonymous';
  if (header.kind === 'basic' || header.kind === 'unknown scheme') return 'not_authenticated';
  if ((header.kind === 'personal' && path !== '/metrics') || header.fault !== undefined || !person.isAlive)
    return 'authentication_failed';
  return isSessionGood && holder !== person ? 'authentication_failed' : { person, via: 'header' };
}

/**
 * Contract extension-api.md, section 7: personal tokens, Basic if it is enabled, sessions, and nothing else. The header
 * fields of RFC 9421 are ignored: only `Authorization` can be wrong.
 */
export function identifyOnPlatform({ header, session }: Credential, person: Person, isBasicOn: boolean): Identity {
  if (header === undefined || header.kind === 'message signature')
    return session !== undefined && session.fault === undefined && person.isAlive
      ? { person, via: 'session' }
      : 'anonymous';
  const isTaken = header.kind === 'personal' || (header.kind === 'basic' && isBasicOn);
  return isTaken && header.fault === undefined && person.isAlive ? { person, via: 'header' } : 'authentication_failed';
}
