import type { WireRequest } from '../wire/wire-request.ts';

/** The headers that authenticate a request. */
export interface Credential {
  /** Whether they may change everything, see everything, or neither. */
  rank: 'administrator' | 'auditor' | 'member';
  headers: WireRequest['headers'];
}

/** The targets of requests to access management, created by `prepareAccessUsers`. */
export interface AccessUsers {
  /** One of every permanent kind; each works until the end of the run. */
  credentials: readonly Credential[];
  /** The Bearer token of the first of them. */
  token: string;
  /** An administrator's signing key; for other users it is a 404. */
  accessKey: { id: string; secret: string };
  session: { cookie: string; csrfToken: string };
  /** A login that can be repeated. */
  login: { username: string; password: string };
  /** Ids of users and organizations that may be read but not changed. */
  users: readonly string[];
  organizations: readonly string[];
}

/** What `prepareAccessUsers` needs. */
export interface AccessServer {
  /** The port of access management. */
  readonly accessPort: number;
  adminPassword(): Promise<string>;
  /** Creates a user's private token with the operator command. */
  createPrivateToken(username: string): Promise<string>;
}

interface Reply {
  status: number;
  body: unknown;
  cookies: ReadonlyMap<string, string>;
}

const auth = '/api/v1/authentication/auth/';
const users = '/api/v1/users/users/';
const roleId = (number: number): string => `00000000-0000-0000-0000-00000000000${number}`;
const password = 'Nobody-guesses-this-41';
/** No request may change these users: others are called f0 to f499. */
const people = { signer: 1, auditor: 2, pager: 1, member: undefined, reader: undefined } as const;

/** Users of every rank with every kind of credential, created by the first administrator. */
export async function prepareAccessUsers(server: AccessServer): Promise<AccessUsers> {
  const { body: login } = await send(server, 'POST', auth, {
    body: { username: 'admin', password: await server.adminPassword() },
  });
  const bearer = (login as { token: string }).token;
  const demand = async (
    method: string,
    path: string,
    body?: object,
    token = bearer,
  ): Promise<Record<string, string>> => {
    const answer = await send(server, method, path, {
      headers: { Authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body }),
    });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, string>;
  };
  const ids = new Map<string, string>();
  const tokens = new Map<string, string>();
  for (const [username, role] of Object.entries(people)) {
    const { id } = await demand('POST', users, {
      username,
      name: username,
      email: `${username}@fuzz.example`,
      password,
    });
    if (role !== undefined)
      await demand('POST', '/api/v1/rbac/system-role-bindings/', { user: id!, role: roleId(role) });
    ids.set(username, id!);
    tokens.set(username, (await demand('POST', auth, { username, password }))['token']!);
  }
  const { id: organization } = await demand('POST', '/api/v1/orgs/orgs/', { name: 'kept' });
  const accessKey = await demand('POST', '/api/v1/authentication/access-keys/', {}, tokens.get('signer'));
  const session = await openSession(server, 'pager');
  const privateToken = await server.createPrivateToken('signer');
  const cookie: [string, string] = ['Cookie', `svc_sessionid=${session.cookie}`];
  return {
    credentials: [
      { rank: 'administrator', headers: [['Authorization', `Bearer ${bearer}`]] },
      { rank: 'administrator', headers: [['Authorization', `token ${privateToken}`]] },
      { rank: 'administrator', headers: [cookie, ['X-CSRFToken', session.csrfToken]] },
      { rank: 'auditor', headers: [['Authorization', `Bearer ${tokens.get('auditor')!}`]] },
      { rank: 'member', headers: [['Authorization', `BEARER ${tokens.get('member')!}`]] },
    ],
    token: bearer,
    accessKey: { id: accessKey['id']!, secret: accessKey['secret']! },
    session,
    login: { username: 'reader', password },
    users: [...ids.values()],
    organizations: [organization!, roleId(0), roleId(2), 'ROOT', 'DEFAULT'],
  };
}

/** Texts that no response may contain, except for the CSRF token in the session's page. */
export function secretsOf({ credentials, accessKey, session, login }: AccessUsers): string[] {
  const words = credentials.flatMap(({ headers }) =>
    headers.flatMap(([name, value]) => (name === 'Authorization' ? [value.split(' ')[1]!] : [])),
  );
  return [...words, accessKey.secret, session.cookie, login.password];
}

async function openSession(server: AccessServer, username: string): Promise<AccessUsers['session']> {
  const form = await send(server, 'GET', '/login/');
  const token = form.cookies.get('svc_loginform')!;
  const answer = await send(server, 'POST', '/login/', {
    body: { username, password, csrfmiddlewaretoken: token },
    headers: { Cookie: `svc_loginform=${token}` },
  });
  const cookie = answer.cookies.get('svc_sessionid');
  if (cookie === undefined) throw new Error(`the login page began no session: ${answer.status}`);
  return { cookie, csrfToken: answer.cookies.get('svc_csrftoken')! };
}

async function send(
  { accessPort }: AccessServer,
  method: string,
  path: string,
  { body, headers }: { body?: object; headers?: Record<string, string> } = {},
): Promise<Reply> {
  const response = await fetch(`http://127.0.0.1:${accessPort}${path}`, {
    method,
    redirect: 'manual',
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const cookies = new Map(
    response.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]!.split('=') as [string, string]),
  );
  const text = await response.text();
  const isJson = response.headers.get('content-type') === 'application/json';
  return { status: response.status, body: isJson ? JSON.parse(text) : text, cookies };
}
