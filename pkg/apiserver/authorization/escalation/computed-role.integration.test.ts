import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { startTestRbac, testUser, type TestRbac } from '../start-test-rbac.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apiVersion = 'rbac.authorization.k8s.io/v1';
const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];

let server: TestRbac;

beforeAll(async () => {
  server = await startTestRbac();
  server.users.set('manager', testUser('system:controller-manager', 'system:controllers'));
  server.users.set('access', testUser('system:access-server', 'system:access-servers'));
});
afterAll(() => server.stop());

const clusterRole = (
  name: string,
  rules: JsonObject[],
  more: JsonObject = {},
  labels: JsonObject = {},
): JsonObject => ({
  apiVersion,
  kind: 'ClusterRole',
  metadata: { name, labels },
  rules,
  ...more,
});
const clusterBinding = (name: string, role: string, kind: 'User' | 'Group', subject: string): JsonObject => ({
  apiVersion,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind, name: subject }],
});
const plugin = (name: string, permissions: JsonObject[]): JsonObject => ({
  apiVersion: 'plugin.svc.run/v1alpha1',
  kind: 'Plugin',
  metadata: { name },
  spec: { version: '1.0.0', permissions },
});
const impersonation = (resource: string, ...resourceNames: string[]): JsonObject => ({
  apiGroups: [''],
  resources: [resource],
  verbs: ['impersonate'],
  resourceNames,
});

/** Creates the object as that user; returns the status. */
async function create(user: string, resource: string, object: JsonObject): Promise<number> {
  return (await server.call(user, 'POST', `${rbac}/${resource}`, object)).status;
}
const replace = async (user: string, object: JsonObject): Promise<number> => {
  const { name } = object['metadata'] as { name: string };
  return (await server.call(user, 'PUT', `${rbac}/clusterroles/${name}`, object)).status;
};
const plugins = '/apis/plugin.svc.run/v1alpha1/plugins';

describe('controllers', () => {
  test.each<[string, string, JsonObject]>([
    ['a binding to cluster-admin', 'clusterrolebindings', clusterBinding('a', 'cluster-admin', 'User', 'mallory')],
    ['a role with every right', 'clusterroles', clusterRole('b', everything)],
    ['a role that impersonates anybody', 'clusterroles', clusterRole('c', [impersonation('users', 'root')])],
    [
      'a role that escalates',
      'clusterroles',
      clusterRole('d', [
        { apiGroups: ['rbac.authorization.k8s.io'], resources: ['clusterroles'], verbs: ['escalate'] },
      ]),
    ],
    [
      'a role that aggregates',
      'clusterroles',
      clusterRole('e', [], { aggregationRule: { clusterRoleSelectors: [{}] } }),
    ],
    ['the role of a plugin that does not exist', 'clusterroles', clusterRole('system:plugin:none', everything)],
    [
      'the impersonation of others than plugins',
      'clusterroles',
      clusterRole('system:plugin-impersonator', [impersonation('users', 'system:plugin:a', 'root')]),
    ],
    [
      'the impersonation of any user',
      'clusterroles',
      clusterRole('system:plugin-impersonator', [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }]),
    ],
    [
      'the impersonation of another group',
      'clusterroles',
      clusterRole('system:plugin-impersonator', [impersonation('groups', 'system:plugins', 'system:masters')]),
    ],
    [
      'the impersonation of plugins, for others',
      'clusterrolebindings',
      clusterBinding('system:plugin-impersonator', 'system:plugin-impersonator', 'User', 'mallory'),
    ],
    [
      'the role of a plugin, for another user',
      'clusterrolebindings',
      clusterBinding('system:plugin:a', 'system:plugin:a', 'User', 'mallory'),
    ],
    [
      'the role of a plugin, under another name',
      'clusterrolebindings',
      clusterBinding('other', 'system:plugin:a', 'User', 'system:plugin:a'),
    ],
  ])('do not write %s', async (_what, resource, object) => {
    const { status, body } = await server.call('manager', 'POST', `${rbac}/${resource}`, object);
    expect([status, body.reason]).toEqual([403, 'Forbidden']);
  });

  test('write what they hold themselves, and the roles of models', async () => {
    const notes = [
      { apiGroups: ['notes.example.com'], resources: ['notes', 'notes/status'], verbs: ['get', 'delete'] },
    ];
    expect(await create('manager', 'clusterroles', clusterRole('own', notes))).toBe(201);
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' };
    expect(
      await create('manager', 'clusterroles', clusterRole('notes.notes.example.com:manage', notes, {}, labels)),
    ).toBe(201);
    expect(await create('manager', 'clusterrolebindings', clusterBinding('own', 'own', 'User', 'ann'))).toBe(201);
    expect(await create('manager', 'clusterroles', clusterRole('notes.notes.example.com:view', everything))).toBe(403);
  });

  test('give a plugin exactly what its Plugin says, which others may have written', async () => {
    const permissions = [{ apiGroups: ['all.example.com'], resources: ['*'], verbs: ['*'] }];
    const role = 'system:plugin:all';
    expect((await server.call('manager', 'POST', plugins, plugin('all', permissions))).status).toBe(403);
    expect((await server.call('root', 'POST', plugins, plugin('all', permissions))).status).toBe(201);
    expect(await create('manager', 'clusterroles', clusterRole(role, everything))).toBe(403);
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    expect(await create('manager', 'clusterroles', clusterRole(role, permissions, {}, labels))).toBe(403);
    expect(await create('manager', 'clusterroles', clusterRole(role, permissions))).toBe(201);
    expect(await create('manager', 'clusterrolebindings', clusterBinding(role, role, 'User', role))).toBe(201);
    server.users.set('all', testUser(role, 'system:plugins'));
    expect((await server.call('all', 'GET', '/apis/all.example.com/v1/things')).status).toBe(404);
    expect(await replace('manager', clusterRole(role, everything))).toBe(403);
    expect(await replace('manager', clusterRole(role, permissions, {}, labels))).toBe(403);
    // Unchanged rules: the garbage collector writes owners and finalizers.
    await server.call('root', 'DELETE', `${plugins}/all`);
    expect(
      await replace('manager', { ...clusterRole(role, permissions), metadata: { name: role, finalizers: [] } }),
    ).toBe(200);
    expect(await replace('manager', clusterRole(role, []))).toBe(200);
  });

  test('maintain the right to impersonate plugins, for themselves', async () => {
    const name = 'system:plugin-impersonator';
    const rules = [impersonation('users', 'system:plugin:a'), impersonation('groups', 'system:plugins')];
    expect(await create('manager', 'clusterroles', clusterRole(name, rules))).toBe(201);
    const binding = clusterBinding(name, name, 'Group', 'system:controllers');
    expect(await create('manager', 'clusterrolebindings', binding)).toBe(201);
    const as = async (user: string): Promise<number> =>
      (
        await server.call('manager', 'GET', '/api/v1/namespaces', undefined, { 'Impersonate-User': user })
      ).body.message.includes('cannot impersonate')
        ? 403
        : 200;
    expect([await as('system:plugin:a'), await as('system:plugin:b'), await as('root')]).toEqual([200, 403, 403]);
  });

  test('write the rules that aggregated roles show, and never what they aggregate', async () => {
    const { body: view } = await server.call('root', 'GET', `${rbac}/clusterroles/view`);
    expect(await replace('manager', { ...view, rules: everything })).toBe(200);
    server.users.set('auditor', testUser('auditor', 'svc:system-auditors'));
    // The stored rules of an aggregated role are not in effect.
    expect((await server.call('auditor', 'GET', `${rbac}/clusterroles`)).status).toBe(403);
    const { body: shown } = await server.call('root', 'GET', `${rbac}/clusterroles/view`);
    expect(await replace('manager', { ...shown, aggregationRule: { clusterRoleSelectors: [{}] } })).toBe(403);
    const { aggregationRule: _rule, ...plain } = shown as JsonObject;
    expect(await replace('manager', plain)).toBe(403);
  });
});

describe('access servers', () => {
  const binding = (role: string, namespace = 'default'): JsonObject => ({
    ...clusterBinding(`org-${role}`, role, 'Group', 'org:1:OrgUser'),
    kind: 'RoleBinding',
    metadata: { name: `org-${role}`, namespace },
  });
  const bindings = `${rbac}/namespaces/default/rolebindings`;

  test.each(['admin', 'edit', 'view'])('bind %s in a namespace', async (role) => {
    expect((await server.call('access', 'POST', bindings, binding(role))).status).toBe(201);
    const path = `${bindings}/org-${role}`;
    expect((await server.call('access', 'PUT', path, { ...binding(role), subjects: [] })).status).toBe(200);
    expect((await server.call('access', 'DELETE', path)).status).toBe(200);
  });

  test('make, change and delete namespaces with their quota', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'org-1' } };
    expect((await server.call('access', 'POST', '/api/v1/namespaces', namespace)).status).toBe(201);
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: {} } };
    expect((await server.call('access', 'POST', '/api/v1/namespaces/org-1/resourcequotas', quota)).status).toBe(201);
    expect((await server.call('access', 'DELETE', '/api/v1/namespaces/org-1')).status).toBe(200);
  });

  test.each<[string, string, string, JsonObject | undefined]>([
    ['bind cluster-admin', 'POST', bindings, binding('cluster-admin')],
    ['bind in all namespaces', 'POST', `${rbac}/clusterrolebindings`, clusterBinding('f', 'view', 'User', 'mallory')],
    ['write roles', 'POST', `${rbac}/clusterroles`, clusterRole('g', [])],
    ['write plugins', 'POST', plugins, plugin('h', [])],
    ['write leases', 'POST', '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases', { metadata: { name: 'x' } }],
    ['delete what it lists', 'DELETE', `${rbac}/clusterroles/view`, undefined],
    ['read metrics', 'GET', '/metrics', undefined],
  ])('do not %s', async (_what, method, path, body) => {
    expect((await server.call('access', method, path, body)).status).toBe(403);
  });
});
