import { randomBytes } from 'node:crypto';
import { get, json, type WireRequest } from '../harness/wire/wire-request.ts';
import type { ApiServer } from '../harness/process/api-server.ts';

/** Attempts that fail for one reason, which their timing must not reveal. */
export interface Attempts {
  reason: string;
  next: () => WireRequest;
}

/** The first is the baseline of the others. */
export interface Comparison {
  what: string;
  kinds: readonly Attempts[];
  /** Number of measurements of each. */
  each: number;
}

const auth = '/api/v1/authentication/auth/';
const password = 'Nobody-guesses-this-41';
/** One more would lock the login. */
const failuresEach = 6;

/** Logins and signatures that are refused for different reasons, which neither responses nor times may reveal. */
export async function prepareAttempts(
  server: ApiServer,
  { logins, signatures }: { logins: number; signatures: number },
): Promise<Comparison[]> {
  let token = '';
  const post = async (path: string, body: object): Promise<Record<string, string>> => {
    const headers = {
      'Content-Type': 'application/json',
      ...(token === '' ? {} : { Authorization: `Bearer ${token}` }),
    };
    const response = await fetch(`http://127.0.0.1:${server.accessPort}${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Record<string, string>;
  };
  token = (await post(auth, { username: 'admin', password: await server.adminPassword() }))['token']!;
  const accounts = Math.ceil(logins / failuresEach);
  const named = (prefix: string): string[] => Array.from({ length: accounts }, (_, i) => `${prefix}-${i}`);
  const add = async (prefix: string, more: object): Promise<string[]> => {
    const names = named(prefix);
    for (const username of names)
      await post('/api/v1/users/users/', { username, name: username, email: `${username}@example.com`, ...more });
    return names;
  };
  const kinds = [
    loginsOf('no such user', named('nobody')),
    loginsOf('wrong password', await add('people', { password })),
    loginsOf('no password at all', await add('closed', {})),
    loginsOf('a disabled user', await add('former', { password, is_active: false })),
  ];
  const { id } = await post('/api/v1/authentication/access-keys/', {});
  const keys = [signaturesOf('no such key', () => randomId()), signaturesOf('wrong signature', () => id!)];
  return [
    { what: 'login', kinds, each: logins },
    { what: 'signature', kinds: keys, each: signatures },
  ];
}

function loginsOf(reason: string, names: readonly string[]): Attempts {
  let count = 0;
  return {
    reason,
    next: () => {
      const username = names[Math.floor(count / failuresEach) % names.length];
      count += 1;
      return { ...json('POST', auth, { username, password: 'not the password' }), isAnonymous: true };
    },
  };
}

function signaturesOf(reason: string, keyId: () => string): Attempts {
  const next = (): WireRequest => {
    const credentials = `keyId="${keyId()}",algorithm="hmac-sha256",headers="(request-target) date",signature="${randomBytes(32).toString('base64')}"`;
    return get('/api/v1/users/profile/', [
      ['Date', new Date().toUTCString()],
      ['Authorization', `Signature ${credentials}`],
    ]);
  };
  return { reason, next };
}

function randomId(): string {
  const text = randomBytes(16).toString('hex');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}
