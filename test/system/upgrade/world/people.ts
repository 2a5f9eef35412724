import { createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ApiClient, type Json } from '../api-client.ts';
import { runProgram } from '../../harness/process/server-process.ts';
import { environment } from '../start-build.ts';

const password = 'three wet boots in a row';
const tokensPath = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';

/** Credentials of each kind from one version, to use with another. */
export interface People {
  readonly bearer: string;
  readonly privateToken: string;
  readonly personalToken: string;
  readonly key: { readonly id: string; readonly secret: string };
  readonly organization: string;
}

export interface Services {
  readonly platformUrl: string;
  readonly accessUrl: string;
  /** The administrator's token for the content platform. */
  readonly token: string;
}

interface Operator {
  readonly build: string;
  readonly folder: string;
  /** Options with which a command finds the database and the keys. */
  readonly args: readonly string[];
}

/** Creates an organization, a member with permissions in it, and all their credentials. */
export async function addPeople({ platformUrl, accessUrl, token }: Services, operator: Operator): Promise<People> {
  const admin = await logIn(
    accessUrl,
    'admin',
    (await readFile(join(operator.folder, 'data/initial-admin-password'), 'utf8')).trim(),
  );
  const access = new ApiClient(accessUrl, `Bearer ${admin}`);
  const { id } = await access.post('/api/v1/orgs/orgs/', { name: 'Press' });
  await access.post(
    '/api/v1/users/users/',
    { username: 'mia', name: 'Mia', email: 'mia@example.com', password },
    { 'x-svc-org': String(id) },
  );
  const bearer = await logIn(accessUrl, 'mia', password);
  const printed = await runProgram({
    ...operator,
    command: 'private-token',
    args: ['create', '--user', 'mia', ...operator.args],
    env: environment,
  });
  const privateToken = /[0-9a-f]{40}/.exec(printed)?.[0] ?? '';
  const key = (await new ApiClient(accessUrl, `Bearer ${bearer}`).post(
    '/api/v1/authentication/access-keys/',
    {},
  )) as unknown as People['key'];
  const made = await new ApiClient(platformUrl, `Bearer ${token}`).post(tokensPath, {
    metadata: { name: 'reader' },
    spec: { displayName: 'Reads', expiresAt: '2099-01-01T00:00:00Z', roles: ['view'] },
  });
  return {
    bearer,
    privateToken,
    personalToken: String((made['status'] as Json)['token']),
    key: { id: key.id, secret: key.secret },
    organization: String(id),
  };
}

/** Uses them. Returns credentials that no longer work, or allow more. */
export async function usePeople({ platformUrl, accessUrl }: Services, people: People): Promise<string[]> {
  const problems: string[] = [];
  const answers = async (what: string, status: number, answer: Promise<{ status: number }>): Promise<void> => {
    const got = (await answer).status;
    if (got !== status) problems.push(`${what} answered ${got}, not ${status}`);
  };
  const profile = '/api/v1/users/profile/';
  await answers('a token of before', 200, new ApiClient(accessUrl, `Bearer ${people.bearer}`).send('GET', profile));
  await answers(
    'a private token of before',
    200,
    new ApiClient(accessUrl, `Token ${people.privateToken}`).send('GET', profile),
  );
  await answers('an access key of before', 200, signed(accessUrl, profile, people.key));
  await answers(
    'an access key with a wrong secret',
    401,
    signed(accessUrl, profile, { ...people.key, secret: 'wrong' }),
  );
  const reader = new ApiClient(platformUrl, `Bearer ${people.personalToken}`);
  await answers('a personal token of before', 200, reader.send('GET', '/api/v1/namespaces/default/events'));
  await answers(
    'a personal token of before, beyond its roles',
    403,
    reader.send('DELETE', '/api/v1/namespaces/default'),
  );
  const inOrganization = new ApiClient(accessUrl, `Bearer ${people.bearer}`).send(
    'GET',
    '/api/v1/orgs/orgs/current/',
    undefined,
    { 'x-svc-org': people.organization },
  );
  await answers('an organization of before', 200, inOrganization);
  await logIn(accessUrl, 'mia', password).catch((error: Error) =>
    problems.push(`the password of before: ${error.message}`),
  );
  return problems;
}

export async function logIn(accessUrl: string, username: string, secret: string): Promise<string> {
  return String(
    (await new ApiClient(accessUrl).post('/api/v1/authentication/auth/', { username, password: secret }))['token'],
  );
}

function signed(url: string, path: string, { id, secret }: People['key']): Promise<{ status: number }> {
  const date = new Date().toUTCString();
  const signature = createHmac('sha256', secret)
    .update(`(request-target): get ${path}\naccept: application/json\ndate: ${date}`)
    .digest('base64');
  const credential = `Signature keyId="${id}",algorithm="hmac-sha256",headers="(request-target) accept date",signature="${signature}"`;
  return new ApiClient(url, credential).send('GET', path, undefined, { accept: 'application/json', date });
}
