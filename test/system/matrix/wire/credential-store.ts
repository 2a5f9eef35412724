import { randomBytes, randomUUID } from 'node:crypto';
import { newPersonalToken } from '../../../../pkg/identity/index.ts';
import type { Credential } from '../model/credential.ts';
import type { Person } from '../model/person.ts';
import type { MatrixRequest } from './matrix-request.ts';
import { signDraft, signMessage, type AccessKey } from '../../harness/client/sign-request.ts';

export interface SessionCookies {
  readonly id: string;
  readonly csrfToken: string;
}

/** All the secrets of one user; of a service its personal token alone. */
export interface UserCredentials {
  readonly isService?: true;
  readonly username: string;
  readonly password: string;
  readonly bearer: string;
  readonly key: AccessKey;
  readonly session: SessionCookies;
  readonly personalToken: string;
  readonly privateToken?: string;
  /** Personal tokens by the ClusterRole that restricts them. */
  readonly narrowed: Readonly<Record<string, string>>;
  /** Secrets that were valid once, or are for another address, by `<kind>: <fault>`. */
  readonly dead: Readonly<Record<string, string | AccessKey | SessionCookies>>;
}

/** The credentials of all users. */
export class CredentialStore {
  readonly #byUsername: ReadonlyMap<string, UserCredentials>;

  constructor(byUsername: ReadonlyMap<string, UserCredentials>) {
    this.#byUsername = byUsername;
  }

  /** Whether this person has the credential. */
  has({ name, header, session, restriction }: Credential, person: Person): boolean {
    const userCredentials = this.#byUsername.get(person.username)!;
    if (userCredentials.isService === true)
      return session === undefined && header?.kind === 'personal' && !isStored(header.kind, header.fault);
    if (restriction !== undefined) return userCredentials.narrowed[restriction] !== undefined;
    if (isStored(header?.kind, header?.fault) || isStored('session', session?.fault))
      return userCredentials.dead[header?.fault === undefined ? `session: ${session!.fault}` : name] !== undefined;
    // Wrong passwords lock their user's login.
    if (header?.kind === 'basic' && header.fault === undefined)
      return userCredentials.dead['basic: wrong password'] === undefined;
    return header?.kind !== 'private' || header.fault === 'invented' || userCredentials.privateToken !== undefined;
  }

  restrictionsOf(person: Person): string[] {
    return Object.keys(this.#byUsername.get(person.username)!.narrowed);
  }

  /** Adds the credential to the request, which must be complete otherwise; `origin` is the server's own. */
  present(
    credential: Credential,
    request: MatrixRequest,
    { person, another, origin }: { person: Person; another: Person; origin: string },
  ): void {
    const { session, header } = credential;
    if (session !== undefined)
      presentSession(session, request, {
        userCredentials: this.#byUsername.get((session.another === true ? another : person).username)!,
        origin,
      });
    if (header !== undefined) this.#presentHeader(credential, request, this.#byUsername.get(person.username)!);
  }

  #presentHeader(
    { name, header, restriction }: Credential,
    request: MatrixRequest,
    userCredentials: UserCredentials,
  ): void {
    const { kind, fault } = header!;
    const dead = userCredentials.dead[name];
    if (kind === 'signature' || kind === 'message signature') {
      const key =
        typeof dead === 'object' && 'secret' in dead
          ? dead
          : {
              id: fault === 'invented key' ? randomUUID() : userCredentials.key.id,
              secret: fault === 'wrong secret' ? `${userCredentials.key.secret.slice(1)}x` : userCredentials.key.secret,
            };
      if (kind === 'signature') signDraft(request, key, fault);
      else signMessage(request, key, fault);
      return;
    }
    const [scheme, good] =
      restriction === undefined ? schemeOf(kind, userCredentials) : ['Bearer', userCredentials.narrowed[restriction]!];
    const value = typeof dead === 'string' ? dead : wrongValue(kind, fault, good);
    const authorization = fault === 'no scheme' ? value : value === '' ? scheme : `${scheme} ${value}`;
    request.headers['Authorization'] = fault === 'sent twice' ? [authorization, authorization] : authorization;
  }
}

/** Created together with the users: they cannot be invented, or would lock their user. */
function isStored(kind: string | undefined, fault: string | undefined): boolean {
  if (fault === undefined) return false;
  return (
    [
      'expired',
      'old password',
      'replaced',
      'revoked',
      'deleted',
      'inactive key',
      'other address',
      'wrong password',
      'personal token as password',
    ].includes(fault) ||
    (kind === 'session' && fault === 'ended')
  );
}

export function basic(username: string, password: string): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

function schemeOf(kind: string, userCredentials: UserCredentials): [scheme: string, value: string] {
  switch (kind) {
    case 'bearer':
      return ['Bearer', userCredentials.bearer];
    case 'private':
      return ['Token', userCredentials.privateToken ?? ''];
    case 'personal':
      return ['Bearer', userCredentials.personalToken];
    case 'basic':
      return ['Basic', basic(userCredentials.username, userCredentials.password)];
    default:
      return ['Digest', 'username="admin"'];
  }
}

function wrongValue(kind: string, fault: string | undefined, good: string): string {
  switch (fault) {
    case 'invented':
      return kind === 'personal'
        ? newPersonalToken()
        : kind === 'private'
          ? randomBytes(20).toString('hex')
          : randomBytes(18).toString('hex');
    case 'two words':
      return `${good} ${good}`;
    case 'no value':
      return '';
    case 'bad checksum':
      return `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`;
    case 'invented user':
      return basic('nobody-of-that-name', 'a wrong password');
    case 'no colon':
      return Buffer.from('admin').toString('base64');
    case 'not base64':
      return '!!!!';
    case 'no scheme':
      return randomBytes(12).toString('hex');
    default:
      return good;
  }
}

function presentSession(
  { fault, csrf, origin }: NonNullable<Credential['session']>,
  request: MatrixRequest,
  { userCredentials, origin: own }: { userCredentials: UserCredentials; origin: string },
): void {
  const dead = fault === undefined ? undefined : userCredentials.dead[`session: ${fault}`];
  const invented = { id: randomBytes(24).toString('hex'), csrfToken: randomBytes(24).toString('hex') };
  const cookies = fault === undefined ? userCredentials.session : ((dead ?? invented) as SessionCookies);
  const token = csrf === 'wrong' ? invented.csrfToken : cookies.csrfToken;
  addCookie(request, `svc_sessionid=${cookies.id}; svc_csrftoken=${token}`);
  if (csrf === 'header' || csrf === 'wrong') request.headers['X-CSRFToken'] = token;
  if (csrf === 'form' && request.body !== undefined) {
    request.headers['Content-Type'] = 'application/x-www-form-urlencoded';
    request.body = new URLSearchParams({
      ...(JSON.parse(request.body) as Record<string, string>),
      csrfmiddlewaretoken: token,
    }).toString();
  }
  if (origin !== 'none') request.headers['Origin'] = origin === 'same' ? own : 'https://evil.example';
}

export function addCookie(request: MatrixRequest, cookie: string): void {
  const present = request.headers['Cookie'];
  request.headers['Cookie'] = present === undefined ? cookie : `${String(present)}; ${cookie}`;
}
