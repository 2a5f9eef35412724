import type { Person } from './person.ts';

/**
 * What identifies somebody in a request's header fields: `Authorization`, or for `message signature` those of RFC 9421.
 */
export type HeaderKind =
  'bearer' | 'private' | 'signature' | 'message signature' | 'personal' | 'basic' | 'unknown scheme';

/** One way to present oneself; which secret goes with it, and whose, the credentialStore knows. */
export interface Credential {
  readonly name: string;
  /** With `fault` it is one that was never good, or is not any more. */
  readonly header?: { readonly kind: HeaderKind; readonly fault?: string };
  /** Of a session: `another` is that of somebody else than the header's owner. */
  readonly session?: {
    readonly fault?: string;
    readonly another?: true;
    readonly csrf: 'header' | 'form' | 'wrong' | 'none';
    readonly origin: 'same' | 'foreign' | 'none';
  };
  /** A ClusterRole that narrows a personal token. */
  readonly restriction?: string;
}

/** Who is asking, according to a service: a person, nobody at all, or somebody who must be turned away. */
export type Identity =
  { person: Person; via: 'header' | 'session' } | 'anonymous' | 'authentication_failed' | 'not_authenticated';

/**
 * Contract access-api.md, section 3. A session that is not good counts as absent; a header never does. Personal tokens
 * open the content platform and `/metrics`; anywhere else here they are Bearer tokens that nobody issued.
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
 * Contract extension-api.md, section 7: personal tokens, Basic where it is on, sessions, and nothing else. The header
 * fields of RFC 9421 are nothing there: only what stands in `Authorization` can be wrong.
 */
export function identifyOnPlatform({ header, session }: Credential, person: Person, isBasicOn: boolean): Identity {
  if (header === undefined || header.kind === 'message signature')
    return session !== undefined && session.fault === undefined && person.isAlive
      ? { person, via: 'session' }
      : 'anonymous';
  const isTaken = header.kind === 'personal' || (header.kind === 'basic' && isBasicOn);
  return isTaken && header.fault === undefined && person.isAlive ? { person, via: 'header' } : 'authentication_failed';
}
