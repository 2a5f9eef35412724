import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pause, type JsonObject } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { databaseUrlOf, killPrograms, Program } from '../start-test-program.ts';

const adminToken = newPersonalToken();
const accessToken = newPersonalToken();
const password = 'Nobody-guesses-this-41';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const note = '/apis/library.example.com/v1/notes';
const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';
const leases = '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases';
const personalTokens = '/apis/uc.api.security.svc.run/v1alpha1/personalaccesstokens';

let home: TestDatabase;
let folder: string;
let api: string;
let controllersToken: string;
let manager: Program;

const module = `
  import { controllerFor, defineModel, definePlugin, Type } from '@svc/sdk';
  const Note = defineModel({ group: 'library.example.com', version: 'v1', kind: 'Note', plural: 'notes', singular: 'note', spec: Type.Object({ text: Type.String() }), status: Type.Object({ seen: Type.String() }) });
  const seeing = controllerFor(Note).reconcile(async (key, { client, lister }) => {
    const note = lister(Note).get(key);
    if (note === undefined || note.status !== undefined) return;
    await client.patchStatus(Note, key, { type: 'merge', patch: { status: { seen: 'yes' } } });
  });
  export default definePlugin({ models: [Note], controllers: [seeing] });
`;
const presets = [
  { apiVersion: 'library.example.com/v1', kind: 'Note', metadata: { name: 'shipped' }, spec: { text: 'shipped' } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'library:readers', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    rules: [{ apiGroups: ['uc.api.library.example.com'], resources: ['notes'], verbs: ['get'] }],
  },
];
const manifest = `
apiVersion: plugin.svc.run/v1alpha1
kind: Plugin
metadata: { name: library }
spec:
  version: 1.0.0
  enabled: true
  permissions:
    - { apiGroups: [library.example.com], resources: [notes], verbs: [get, list, watch] }
    - { apiGroups: [library.example.com], resources: [notes/status], verbs: [patch] }
`;

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(tmpdir(), 'svc-service-identities-'));
  await chmod(folder, 0o711);
  const plugin = join(folder, 'plugins/library');
  await mkdir(join(plugin, 'presets'), { recursive: true });
  await writeFile(join(plugin, 'plugin.yaml'), manifest);
  await writeFile(join(plugin, 'index.ts'), module);
  await writeFile(join(plugin, 'presets/all.yaml'), presets.map((each) => JSON.stringify(each)).join('\n---\n'));
  await writeFile(join(folder, 'access-token'), accessToken, { mode: 0o600 });
  api = String((await (await startApiServer()).line('ready'))['url']);
  // Expired before the controllers start.
  await call('POST', '/api/v1/namespaces/default/events', {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: 'old', namespace: 'default' },
    involvedObject: { namespace: 'default' },
    lastTimestamp: '2020-01-01T00:00:00Z',
  });
  controllersToken = await createToken();
  manager = new Program([
    'controller-manager',
    '--svc.controllers.port=0',
    `--svc.data.dir=${join(folder, 'controllers')}`,
    `--svc.plugins.dir=${join(folder, 'plugins')}`,
    `--svc.controllers.api-url=${api}`,
    `--svc.controllers.token-file=${join(folder, 'controllers-token')}`,
  ]);
  await manager.line('leading');
});
afterAll(async () => {
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

const onDatabase = (): string[] => [
  `--svc.data.dir=${join(folder, 'api')}`,
  `--svc.database.url=${databaseUrlOf(home)}`,
];

async function startApiServer(): Promise<Program> {
  return new Program([
    'apiserver',
    '--svc.server.port=0',
    ...onDatabase(),
    `--svc.security.initial-admin-token=${adminToken}`,
    `--svc.security.initial-admin-password=${password}`,
    `--svc.security.access-server-token-file=${join(folder, 'access-token')}`,
  ]);
}

/** Runs `svc create-token` for the controllers; returns the token. */
async function createToken(...args: string[]): Promise<string> {
  const file = join(folder, 'controllers-token');
  const made = new Program(['create-token', '--for=controller-manager', `--file=${file}`, ...args, ...onDatabase()]);
  expect([await made.exited, made.stdout]).toEqual([0, '']);
  return (await readFile(file, 'utf8')).trim();
}

interface Answer {
  status: number;
  body: JsonObject & { message?: string; items?: JsonObject[] };
}

async function call(
  method: string,
  path: string,
  body?: object,
  { token = adminToken, url = api, headers = {} }: { token?: string; url?: string; headers?: object } = {},
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : {} };
}
const textOf = ({ body }: Answer, field: string): string => body[field] as string;
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await pause(50);
}
const isGone = async (path: string): Promise<boolean> => (await call('GET', path)).status === 404;
const object = (apiVersion: string, kind: string, metadata: object, more: object = {}): object => ({
  apiVersion,
  kind,
  metadata,
  ...more,
});
const clusterAdmin = object(
  'rbac.authorization.k8s.io/v1',
  'ClusterRoleBinding',
  { name: 'mine' },
  {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:controller-manager' }],
  },
);

describe('svc controller-manager with a token of its own', () => {
  test('runs a plugin with models, presets, permissions and controllers', async () => {
    await until(async () => {
      const { body } = await call('GET', `${plugins}/library`);
      return (body['status'] as JsonObject | undefined)?.['phase'] === 'Started';
    });
    await until(async () => {
      const { body } = await call('GET', `${note}/shipped`);
      return (body['status'] as JsonObject | undefined)?.['seen'] === 'yes';
    });
    // Aggregated from the model's role and the preset.
    await until(async () => {
      const { body } = await call('GET', `${rbac}/clusterroles/view`);
      const rules = JSON.stringify(body['rules']);
      return rules.includes('"library.example.com"') && rules.includes('"uc.api.library.example.com"');
    });
  });

  test('collects garbage, empties a namespace, and removes expired events', async () => {
    const owner = (
      await call('POST', note, object('library.example.com/v1', 'Note', { name: 'owner' }, { spec: { text: 'a' } }))
    ).body['metadata'] as JsonObject;
    const reference = { apiVersion: 'library.example.com/v1', kind: 'Note', name: 'owner', uid: owner['uid'] };
    const owned = (name: string): object =>
      object('library.example.com/v1', 'Note', { name, ownerReferences: [reference] }, { spec: { text: 'b' } });
    expect((await call('POST', note, owned('owned'))).status).toBe(201);
    expect((await call('DELETE', `${note}/owner?propagationPolicy=Foreground`)).status).toBe(200);
    await until(() => isGone(`${note}/owned`));
    await until(() => isGone(`${note}/owner`));

    await call('POST', '/api/v1/namespaces', object('v1', 'Namespace', { name: 'full' }));
    const lease = '/apis/coordination.k8s.io/v1/namespaces/full/leases';
    expect((await call('POST', lease, object('coordination.k8s.io/v1', 'Lease', { name: 'a' }))).status).toBe(201);
    await call('DELETE', '/api/v1/namespaces/full');
    await until(() => isGone('/api/v1/namespaces/full'));
    await until(() => isGone('/api/v1/namespaces/default/events/old'));
    expect(manager.lines().filter(({ msg, err }) => JSON.stringify([msg, err]).includes('"Forbidden"'))).toEqual([]);
  });

  test('may not make itself an administrator, impersonate a user, or make tokens', async () => {
    const own = { token: controllersToken };
    expect((await call('POST', `${rbac}/clusterrolebindings`, clusterAdmin, own)).body.message).toContain(
      'attempting to grant RBAC permissions not currently held',
    );
    const cannot = (
      await call('GET', '/api/v1/namespaces', undefined, { ...own, headers: { 'Impersonate-User': 'admin' } })
    ).body.message;
    expect(cannot).toContain('User "system:controller-manager" cannot impersonate resource "users"');
    const draft = object('uc.api.security.svc.run/v1alpha1', 'PersonalAccessToken', { name: 'more' });
    expect((await call('POST', personalTokens, draft, own)).status).toBe(403);
    const server = object('coordination.k8s.io/v1', 'Lease', { name: 'svc-apiserver-mine' });
    expect((await call('POST', leases, server, own)).status).toBe(403);
    expect((await call('GET', '/metrics', undefined, own)).status).toBe(403);
  });

  test('a plugin that wants more than the controllers hold starts once an administrator has written what it may do', async () => {
    const greedy = join(folder, 'plugins/greedy');
    await mkdir(greedy, { recursive: true });
    const spec = {
      version: '1.0.0',
      permissions: [{ apiGroups: ['greedy.example.com'], resources: ['*'], verbs: ['*'] }],
    };
    await writeFile(
      join(greedy, 'index.ts'),
      `import { definePlugin } from '@svc/sdk'; export default definePlugin({});`,
    );
    await writeFile(
      join(greedy, 'plugin.yaml'),
      JSON.stringify(object('plugin.svc.run/v1alpha1', 'Plugin', { name: 'greedy' }, { spec })),
    );
    await manager.until(() => manager.stdout.includes('permissions not currently held') || undefined);
    expect(await isGone(`${plugins}/greedy`)).toBe(true);
    const body = object('plugin.svc.run/v1alpha1', 'Plugin', { name: 'greedy' }, { spec: { ...spec, enabled: true } });
    expect((await call('POST', plugins, body)).status).toBe(201);
    await until(async () => {
      const { body: plugin } = await call('GET', `${plugins}/greedy`);
      return (plugin['status'] as JsonObject | undefined)?.['phase'] === 'Started';
    });
    await until(async () => (await call('GET', `${rbac}/clusterroles/system:plugin:greedy`)).status === 200);
  });
});

describe('svc access-server with a token of its own', () => {
  test('makes and deletes organizations, checks names and roles, and may do no more', async () => {
    const server = new Program([
      'access-server',
      '--svc.access.port=0',
      ...onDatabase(),
      `--svc.access.api-url=${api}`,
      `--svc.access.token-file=${join(folder, 'access-token')}`,
      '--svc.access.organization-quota=count/notes.library.example.com=5',
    ]);
    const url = String((await server.line('ready'))['accessUrl']);
    const login = await call(
      'POST',
      '/api/v1/authentication/auth/',
      { username: 'admin', password },
      { url, token: '' },
    );
    const as = { url, token: textOf(login, 'token') };
    const made = await call('POST', '/api/v1/orgs/orgs/', { name: 'Readers' }, as);
    expect(made.status).toBe(201);
    const id = textOf(made, 'id');
    const namespace = `/api/v1/namespaces/org-${id}`;
    await until(async () => (await call('GET', namespace)).status === 200);
    const bindings = `${rbac}/namespaces/org-${id}/rolebindings`;
    await until(async () => (await call('GET', bindings)).body.items?.length === 3);
    expect((await call('GET', `${namespace}/resourcequotas/organization`)).status).toBe(200);
    // A user of an organization's administrator: bindings are searched for the name.
    const person = { username: 'olga', name: 'Olga', email: 'olga@example.com', password };
    const olga = await call('POST', `/api/v1/users/users/?oid=${id}`, person, as);
    expect(olga.status).toBe(201);
    const role = { user: 'olga', role: 'OrgAdmin', org: id };
    expect((await call('POST', '/api/v1/rbac/org-role-bindings/', role, as)).status).toBe(201);
    const hers = await call('POST', '/api/v1/authentication/auth/', { username: 'olga', password }, { url, token: '' });
    const asOlga = { url, token: textOf(hers, 'token') };
    const another = (username: string): object => ({ ...person, username, email: `${username}@example.com` });
    expect((await call('POST', `/api/v1/users/users/?oid=${id}`, another('pia'), asOlga)).status).toBe(201);
    const people = await call('GET', '/api/v1/users/users/?oid=ROOT&limit=100', undefined, as);
    const usernames = (people.body['results'] as JsonObject[]).map((user) => user['username']);
    expect(usernames).toHaveLength(3);
    expect(usernames).toEqual(expect.arrayContaining(['admin', 'olga', 'pia']));

    const lease = `/apis/coordination.k8s.io/v1/namespaces/org-${id}/leases`;
    await call('POST', lease, object('coordination.k8s.io/v1', 'Lease', { name: 'a' }));
    const empty = await call('POST', '/api/v1/orgs/orgs/', { name: 'Nobody' }, as);
    const other = textOf(empty, 'id');
    await until(async () => (await call('GET', `/api/v1/namespaces/org-${other}`)).status === 200);
    expect((await call('DELETE', `/api/v1/orgs/orgs/${other}/`, undefined, as)).status).toBe(204);
    await until(() => isGone(`/api/v1/namespaces/org-${other}`));
    expect((await call('DELETE', `/api/v1/orgs/orgs/${id}/`, undefined, as)).status).toBe(409);

    const own = { token: accessToken };
    expect((await call('POST', `${rbac}/clusterrolebindings`, clusterAdmin, own)).status).toBe(403);
    expect((await call('DELETE', `${note}/shipped`, undefined, own)).status).toBe(403);
    expect((await call('PATCH', `${plugins}/library`, { spec: { enabled: false } }, own)).status).toBe(403);
    expect((await call('GET', `${leases}/svc-controllers`, undefined, own)).status).toBe(403);
  });
});

describe('svc create-token', () => {
  test('replaces a token; a revoked one is dead, and no start revives it', async () => {
    const next = await createToken('--rotate');
    const list = (token: string): Promise<number> =>
      call('GET', '/api/v1/namespaces', undefined, { token }).then(({ status }) => status);
    expect([next === controllersToken, await list(controllersToken), await list(next)]).toEqual([false, 200, 200]);
    await createToken('--revoke-others');
    expect([await list(controllersToken), await list(next)]).toEqual([401, 200]);
    await writeFile(join(folder, 'revoked'), controllersToken, { mode: 0o600 });
    const again = new Program([
      'apiserver',
      '--svc.server.port=0',
      ...onDatabase().slice(1),
      `--svc.data.dir=${join(folder, 'again')}`,
      `--svc.security.initial-admin-token=${adminToken}`,
      `--svc.security.controller-manager-token-file=${join(folder, 'revoked')}`,
    ]);
    expect(await again.line('did not add the token')).toMatchObject({
      option: 'svc.security.controller-manager-token',
      reason: 'The token of system:controller-manager was revoked or has expired.',
    });
    await again.line('ready');
    expect(await list(controllersToken)).toBe(401);
  });
});
