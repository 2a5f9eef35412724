import { signDraft } from '../../../../pkg/access/access-keys/keytest/sign.ts';
import type { ApiServer } from '../process/api-server.ts';
import type { AccessServer } from './access-users.ts';

const auth = '/api/v1/authentication/auth/';
const tokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const password = 'Nobody-guesses-this-41';
const origin = 'http://127.0.0.1';

/** Header lines that authenticate one user, one for each kind of credential. */
export interface UserIdentity {
  username: string;
  password: string;
  bearer: string;
  privateToken: string;
  session: string;
  basic: string;
  pat: string;
  narrowedPat: string;
  /** Valid for a few minutes. */
  signature(method: string, target: string): string;
}

interface Reply {
  body: Record<string, unknown>;
  cookies: Map<string, string>;
}

/** A server of both services. */
export interface IdentityServer extends AccessServer {
  readonly port: number;
}

/** Creates a user without roles, with every kind of credential, on a server started as `serve`. */
export async function newIdentity(api: IdentityServer, username: string): Promise<UserIdentity> {
  const admin = await logIn(api, 'admin', await api.adminPassword());
  await post(
    api.accessPort,
    '/api/v1/users/users/',
    { username, name: username, email: `${username}@example.com`, password },
    admin,
  );
  const bearer = await logIn(api, username, password);
  const { body: key } = await post(api.accessPort, '/api/v1/authentication/access-keys/', {}, bearer);
  const session = await openSession(api, username);
  const newPat = async (spec: object): Promise<string> => {
    const { body } = await post(api.port, tokens, { spec }, session.lines);
    return `Authorization: Bearer ${(body['status'] as { token: string }).token}`;
  };
  const privateToken = await api.createPrivateToken(username);
  return {
    username,
    password,
    bearer,
    privateToken: `Authorization: Token ${privateToken}`,
    session: session.cookie,
    basic: `Authorization: Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`,
    pat: await newPat({}),
    narrowedPat: await newPat({ roles: ['view'] }),
    signature: (method, target) => {
      const headers = { Accept: 'application/json', Date: new Date().toUTCString() };
      const authorization = signDraft(
        { method, target, headers },
        { keyId: String(key['id']), secret: String(key['secret']), algorithm: 'hmac-sha256' },
      );
      return [`Accept: ${headers.Accept}`, `Date: ${headers.Date}`, `Authorization: ${authorization}`].join('\r\n');
    },
  };
}

/** Creates roles of which only the last one allows the user to read the model. */
export async function bindRoles(
  api: ApiServer,
  username: string,
  { count, group, plural }: { count: number; group: string; plural: string },
): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const name = `bench-${username}-${i}`;
    const rule =
      i === count - 1
        ? { apiGroups: [group], resources: [plural], verbs: ['get', 'list'] }
        : { apiGroups: [`other-${i}.example.com`], resources: ['*'], verbs: ['*'] };
    const create = (path: string, kind: string, more: object): Promise<string> =>
      api.fetch(`${rbac}/${path}`, {
        method: 'POST',
        body: JSON.stringify({ apiVersion: 'rbac.authorization.k8s.io/v1', kind, metadata: { name }, ...more }),
      });
    await create('clusterroles', 'ClusterRole', { rules: [rule] });
    await create('clusterrolebindings', 'ClusterRoleBinding', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: username }],
    });
  }
}

export function loginBody(username: string): string {
  return JSON.stringify({ username, password });
}

async function logIn(api: IdentityServer, username: string, secret: string): Promise<string> {
  const { body } = await post(api.accessPort, auth, { username, password: secret });
  return `Authorization: Bearer ${String(body['token'])}`;
}

async function openSession(api: IdentityServer, username: string): Promise<{ cookie: string; lines: string }> {
  const form = await fetch(`${origin}:${api.accessPort}/login/`);
  await form.text();
  const token = cookiesOf(form).get('svc_loginform')!;
  const { cookies } = await post(
    api.accessPort,
    '/login/',
    { username, password, csrfmiddlewaretoken: token },
    `Cookie: svc_loginform=${token}`,
  );
  const cookie = `Cookie: svc_sessionid=${cookies.get('svc_sessionid')}`;
  return {
    cookie,
    lines: [cookie, `X-CSRFToken: ${cookies.get('svc_csrftoken')}`, `Origin: ${origin}:${api.port}`].join('\r\n'),
  };
}

/** Throws if it is refused. */
async function post(port: number, path: string, body: object, lines = ''): Promise<Reply> {
  const given = lines === '' ? [] : lines.split('\r\n').map((line) => line.split(': ', 2) as [string, string]);
  const response = await fetch(`${origin}:${port}${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: [...given, ['Content-Type', 'application/json']],
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (response.status >= 400) throw new Error(`POST ${path}: ${response.status} ${text}`);
  return { body: text.startsWith('{') ? (JSON.parse(text) as Reply['body']) : {}, cookies: cookiesOf(response) };
}

function cookiesOf(response: Response): Map<string, string> {
  return new Map(
    response.headers.getSetCookie().map((cookie) => cookie.split(';', 1)[0]!.split('=') as [string, string]),
  );
}
