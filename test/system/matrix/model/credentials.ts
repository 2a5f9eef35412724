import type { Credential, HeaderKind } from './credential.ts';

const session = { csrf: 'header', origin: 'same' } as const;

/** Credentials with which a valid user is accepted, on a service that supports their kind. */
export const goodCredentials: readonly Credential[] = [
  { name: 'Bearer of a login', header: { kind: 'bearer' } },
  { name: 'private token', header: { kind: 'private' } },
  { name: 'Signature', header: { kind: 'signature' } },
  { name: 'RFC 9421', header: { kind: 'message signature' } },
  { name: 'personal token', header: { kind: 'personal' } },
  { name: 'Basic', header: { kind: 'basic' } },
  { name: 'session with CSRF token', session },
  { name: 'session and Bearer of one user', header: { kind: 'bearer' }, session: { csrf: 'none', origin: 'none' } },
  { name: 'Bearer, and a session that ended', header: { kind: 'bearer' }, session: { ...session, fault: 'ended' } },
];

/** Faults of a header, by kind. */
const faults: Readonly<Record<HeaderKind, readonly string[]>> = {
  bearer: ['invented', 'expired', 'two words', 'no value', 'sent twice', 'old password'],
  private: ['invented', 'replaced', 'two words', 'no value', 'sent twice'],
  signature: [
    'wrong secret',
    'invented key',
    'inactive key',
    'other address',
    'stale date',
    'no date',
    'no request-target',
    'hmac-sha1',
    'other target',
    'other method',
    'parameter twice',
    'no parameters',
    'sent twice',
  ],
  'message signature': [
    'wrong secret',
    'invented key',
    'inactive key',
    'stale',
    'no method',
    'no target',
    'other target',
  ],
  personal: ['invented', 'bad checksum', 'expired', 'revoked', 'deleted', 'sent twice'],
  basic: ['wrong password', 'invented user', 'no colon', 'not base64', 'personal token as password', 'sent twice'],
  'unknown scheme': ['Digest', 'no scheme'],
};

export const badCredentials: readonly Credential[] = [
  ...Object.entries(faults).flatMap(([kind, each]) =>
    each.map((fault) => ({ name: `${kind}: ${fault}`, header: { kind: kind as HeaderKind, fault } })),
  ),
  { name: 'none' },
  ...['invented', 'expired', 'ended', 'old password'].map((fault) => ({
    name: `session: ${fault}`,
    session: { ...session, fault },
  })),
  { name: 'session without CSRF token', session: { csrf: 'none', origin: 'same' } },
  { name: 'session with a wrong CSRF token', session: { csrf: 'wrong', origin: 'same' } },
  { name: 'session with the CSRF token in a form', session: { csrf: 'form', origin: 'same' } },
  { name: 'session from a foreign page', session: { csrf: 'header', origin: 'foreign' } },
  { name: 'session from a page that hides its origin', session: { csrf: 'header', origin: 'none' } },
  { name: "Bearer, and somebody else's session", header: { kind: 'bearer' }, session: { ...session, another: true } },
  { name: 'wrong Bearer, and a good session', header: { kind: 'bearer', fault: 'invented' }, session },
  { name: 'wrong personal token, and a good session', header: { kind: 'personal', fault: 'invented' }, session },
];
