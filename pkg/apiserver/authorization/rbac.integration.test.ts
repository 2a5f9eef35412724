import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import type { ApiObject, JsonObject, ResourceType } from '#pkg/apimachinery/index';
import { eventType } from '#pkg/apis/index';
import { pollUntil } from '../registry/registrytest/api-client.ts';
import { LoopbackClient } from '../loopback/loopback-client.ts';
import { bootstrapRoles } from './bootstrap/bootstrap-roles.ts';
import { RbacAuthorizer } from './rbac-authorizer.ts';
import { startTestRbac, testUser, type TestRbac } from './start-test-rbac.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const apiVersion = 'rbac.authorization.k8s.io/v1';
const events = '/api/v1/namespaces/default/events';

let server: TestRbac;

beforeAll(async () => {
  server = await startTestRbac();
});

afterAll(() => server.stop());

let made = 0;
/** A name unique to this test. */
let name: string;

beforeEach(() => {
  made += 1;
  name = `n${made}`;
  server.users.set('ada', testUser('ada', name));
});

const leaseType: ResourceType<ApiObject<{ holderIdentity?: string }>> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  hasStatusSubresource: false,
};
const rule = (verbs: string[], resources: string[], more: JsonObject = {}): JsonObject => ({
  apiGroups: [''],
  resources,
  verbs,
  ...more,
});
const clusterRole = (roleName: string, rules: JsonObject[], labels: JsonObject = {}): JsonObject => ({
  apiVersion,
  kind: 'ClusterRole',
  metadata: { name: roleName, labels },
  rules,
});
const binding = (bindingName: string, role: string, group: string): JsonObject => ({
  apiVersion,
  kind: 'ClusterRoleBinding',
  metadata: { name: bindingName },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'Group', name: group }],
});
const roleBinding = (bindingName: string, kind: 'Role' | 'ClusterRole', role: string): JsonObject => ({
  ...binding(bindingName, role, name),
  kind: 'RoleBinding',
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: role },
});

/** Grants only ada a role with these rules. */
async function give(...rules: JsonObject[]): Promise<void> {
  expect((await server.call('root', 'POST', `${rbac}/clusterroles`, clusterRole(name, rules))).status).toBe(201);
  expect((await server.call('root', 'POST', `${rbac}/clusterrolebindings`, binding(name, name, name))).status).toBe(
    201,
  );
}

describe('the built-in roles', () => {
  test('exist with the labels, annotations and bindings of Kubernetes', async () => {
    const roles = (await server.call('root', 'GET', `${rbac}/clusterroles`)).body.items as {
      metadata: { name: string };
    }[];
    expect(roles.map(({ metadata }) => metadata.name)).toEqual(
      expect.arrayContaining([
        'cluster-admin',
        'admin',
        'edit',
        'view',
        'system:basic-user',
        'system:discovery',
        'system:controller-manager',
        'system:plugins',
        'svc:personal-tokens',
      ]),
    );
    expect((await server.call('root', 'GET', `${rbac}/clusterroles/edit`)).body).toMatchObject({
      metadata: {
        labels: {
          'kubernetes.io/bootstrapping': 'rbac-defaults',
          'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
        },
        annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
      },
      aggregationRule: {
        clusterRoleSelectors: [{ matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } }],
      },
    });
    expect((await server.call('root', 'GET', `${rbac}/clusterrolebindings/cluster-admin`)).body).toMatchObject({
      roleRef: { name: 'cluster-admin' },
      subjects: [{ kind: 'Group', name: 'system:masters' }],
    });
  });

  test('are restored at the next start, and keep additions', async () => {
    const path = `${rbac}/clusterroles/system:monitoring`;
    const extra = rule(['get'], ['extras']);
    await server.call(
      'root',
      'PATCH',
      path,
      { rules: [extra, { verbs: ['get'], nonResourceURLs: ['/livez', '/metrics'] }] },
      { 'Content-Type': 'application/merge-patch+json' },
    );
    const kept = `${rbac}/clusterroles/system:aggregate-to-edit`;
    await server.call(
      'root',
      'PATCH',
      kept,
      { rules: [], metadata: { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } } },
      { 'Content-Type': 'application/merge-patch+json' },
    );
    await server.call('root', 'DELETE', `${rbac}/clusterrolebindings/svc:system-auditors`);
    await server.call('root', 'POST', `${rbac}/clusterrolebindings`, binding('svc:system-auditors', 'edit', 'others'));
    await server.call('root', 'DELETE', `${rbac}/clusterroles/svc:personal-tokens`);

    await server.visit();
    expect((await server.call('root', 'GET', path)).body.rules).toEqual([
      extra,
      { verbs: ['get'], nonResourceURLs: ['/livez', '/metrics'] },
      { verbs: ['get'], nonResourceURLs: ['/healthz'] },
      { verbs: ['get'], nonResourceURLs: ['/readyz'] },
    ]);
    expect((await server.call('root', 'GET', kept)).body.rules).toEqual([]);
    expect((await server.call('root', 'GET', `${rbac}/clusterrolebindings/svc:system-auditors`)).body).toMatchObject({
      roleRef: { name: 'view' },
      subjects: [{ name: 'svc:system-auditors' }],
    });
    expect((await server.call('root', 'GET', `${rbac}/clusterroles/svc:personal-tokens`)).status).toBe(200);

    const before = (await server.call('root', 'GET', `${rbac}/clusterroles`)).body.metadata.resourceVersion as string;
    await Promise.all([server.visit(), server.visit()]);
    expect((await server.call('root', 'GET', `${rbac}/clusterroles`)).body.metadata.resourceVersion).toBe(before);
    await server.call(
      'root',
      'PATCH',
      kept,
      { metadata: { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' } } },
      { 'Content-Type': 'application/merge-patch+json' },
    );
    await server.visit();
    expect((await server.call('root', 'GET', kept)).body.rules).toHaveLength(4);
  });

  test('are created once by several servers that start together', async () => {
    const all = '?labelSelector=kubernetes.io/bootstrapping=rbac-defaults';
    for (const resource of [
      'clusterroles',
      'clusterrolebindings',
      'namespaces/svc-system/roles',
      'namespaces/svc-system/rolebindings',
    ]) {
      expect((await server.call('root', 'DELETE', `${rbac}/${resource}${all}`)).status).toBe(200);
    }
    expect((await server.call('ada', 'GET', '/apis')).status).toBe(403);
    await Promise.all([server.visit(), server.visit(), server.visit()]);
    await pollUntil(async () => (await server.call('ada', 'GET', '/apis')).status === 200);
    expect((await server.call('root', 'GET', `${rbac}/clusterroles${all}`)).body.items).toHaveLength(
      bootstrapRoles.length - 1,
    );
  });

  test.each([
    ['a user without roles, in all namespaces', [], 'GET', '/api/v1/namespaces', 403],
    ['discovery', [], 'GET', '/apis', 200],
    ['metrics', [], 'GET', '/metrics', 403],
    ['an auditor', ['svc:system-auditors'], 'GET', '/api/v1/namespaces', 200],
    ['an auditor who writes', ['svc:system-auditors'], 'POST', events, 403],
    ['an auditor and roles', ['svc:system-auditors'], 'GET', `${rbac}/clusterroles`, 403],
    ['plugins and events', ['system:plugins'], 'POST', events, 422],
    [
      'plugins and leases of the platform',
      ['system:plugins'],
      'GET',
      '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases',
      200,
    ],
    [
      'plugins and leases elsewhere',
      ['system:plugins'],
      'GET',
      '/apis/coordination.k8s.io/v1/namespaces/default/leases',
      403,
    ],
    ['controllers', ['system:controllers'], 'GET', `${rbac}/clusterroles`, 200],
  ])('%s', async (_reason, groups, method, path, status) => {
    server.users.set('ben', testUser('ben', ...groups));
    const body = method === 'POST' ? { apiVersion: 'v1', kind: 'Event', metadata: {}, involvedObject: {} } : undefined;
    expect((await server.call('ben', method, path, body)).status).toBe(status);
  });
});

describe('roles and bindings', () => {
  test('take effect as soon as they are written or deleted', async () => {
    expect((await server.call('ada', 'GET', events)).body.message).toBe(
      'events is forbidden: User "ada" cannot list resource "events" in API group "" in the namespace "default"',
    );
    await give(rule(['list'], ['events']));
    expect((await server.call('ada', 'GET', events)).status).toBe(200);
    await server.call('root', 'PUT', `${rbac}/clusterroles/${name}`, clusterRole(name, [rule(['get'], ['events'])]));
    expect((await server.call('ada', 'GET', events)).status).toBe(403);
  });

  test('an apply patch needs the right to create where there is no object', async () => {
    const path = `/api/v1/namespaces/${name}`;
    const apply = (): ReturnType<TestRbac['call']> => {
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { by: 'ada' } } };
      return server.call('ada', 'PATCH', `${path}?fieldManager=me`, body, {
        'Content-Type': 'application/apply-patch+yaml',
      });
    };
    await give(rule(['patch'], ['namespaces']));
    const refused = await apply();
    expect([refused.status, refused.body.message]).toEqual([
      403,
      `namespaces "${name}" is forbidden: User "ada" cannot create resource "namespaces" in API group "" in the namespace "${name}"`,
    ]);
    expect((await server.call('root', 'GET', path)).status).toBe(404);
    await server.call('root', 'POST', '/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name },
    });
    expect((await apply()).status).toBe(200);
    await server.call('root', 'DELETE', path);
    const rules = [rule(['patch', 'create'], ['namespaces'])];
    await server.call('root', 'PUT', `${rbac}/clusterroles/${name}`, clusterRole(name, rules));
    expect([200, 201]).toContain((await apply()).status);
  });

  test('an apply inside the process needs the same rights', async () => {
    await give(rule(['patch'], ['leases'], { apiGroups: ['coordination.k8s.io'] }));
    const client = new LoopbackClient({
      registry: server.registry,
      authorizer: new RbacAuthorizer(server.registry.roles),
      user: server.users.get('ada')!,
    });
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name, namespace: 'default' } };
    const path = `/apis/coordination.k8s.io/v1/namespaces/default/leases`;
    await expect(client.apply(leaseType, lease)).rejects.toMatchObject({
      code: 403,
      message: expect.stringContaining('cannot create resource "leases"'),
    });
    expect((await server.call('root', 'POST', path, lease)).status).toBe(201);
    const applied = await client.apply(leaseType, { ...lease, spec: { holderIdentity: 'ada' } });
    expect(applied.spec).toEqual({ holderIdentity: 'ada' });
    await server.call('root', 'DELETE', `${path}/${name}`);
    client.close();
  });

  test('a ClusterRole in a RoleBinding is limited to the namespace', async () => {
    expect(
      (
        await server.call(
          'root',
          'POST',
          `${rbac}/namespaces/default/rolebindings`,
          roleBinding(name, 'ClusterRole', 'view'),
        )
      ).status,
    ).toBe(201);
    expect((await server.call('ada', 'GET', events)).status).toBe(200);
    expect((await server.call('ada', 'GET', '/api/v1/namespaces/default')).status).toBe(200);
    expect((await server.call('ada', 'GET', '/api/v1/namespaces/svc-system/events')).status).toBe(403);
    expect((await server.call('ada', 'GET', '/api/v1/namespaces')).status).toBe(403);
  });

  test('a role that is aggregated to view is also aggregated to edit and admin', async () => {
    await server.call(
      'root',
      'POST',
      `${rbac}/namespaces/default/rolebindings`,
      roleBinding(name, 'ClusterRole', 'admin'),
    );
    const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    expect((await server.call('ada', 'GET', path)).status).toBe(403);
    const role = {
      ...clusterRole(name, [], { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }),
      rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['list'] }],
    };
    await server.call('root', 'POST', `${rbac}/clusterroles`, role);
    expect((await server.call('ada', 'GET', path)).status).toBe(200);
    await server.call('root', 'DELETE', `${rbac}/clusterroles/${name}`);
    expect((await server.call('ada', 'GET', path)).status).toBe(403);
  });

  test.each([
    [
      'no verbs',
      'clusterroles',
      { rules: [{ apiGroups: [''], resources: ['a'], verbs: [] }] },
      'rules[0].verbs: Required value: verbs must contain at least one value',
    ],
    [
      'paths in a namespace',
      'namespaces/default/roles',
      { rules: [{ nonResourceURLs: ['/a'], verbs: ['get'] }] },
      'rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
    ],
    [
      'a role of another kind',
      'clusterrolebindings',
      { roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'a' } },
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    ],
  ])('%s is 422', async (_reason, resource, content, message) => {
    const kind = {
      clusterroles: 'ClusterRole',
      'namespaces/default/roles': 'Role',
      clusterrolebindings: 'ClusterRoleBinding',
    }[resource];
    const answer = await server.call('root', 'POST', `${rbac}/${resource}`, {
      apiVersion,
      kind,
      metadata: { name },
      ...content,
    });
    expect([answer.status, answer.body.message]).toEqual([
      422,
      `${kind}.rbac.authorization.k8s.io "${name}" is invalid: ${message}`,
    ]);
  });

  test('the role of a binding never changes', async () => {
    await give(rule(['list'], ['events']));
    const answer = await server.call('root', 'PUT', `${rbac}/clusterrolebindings/${name}`, binding(name, 'view', name));
    expect(answer).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'roleRef', message: expect.stringMatching(/cannot change roleRef$/) }] } },
    });
  });
});

describe('a user cannot grant permissions that they do not hold', () => {
  const roleWriter = {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'],
    verbs: ['create', 'update', 'get'],
  };

  test('rules', async () => {
    await give(roleWriter, rule(['get'], ['events']));
    const refused = await server.call(
      'ada',
      'POST',
      `${rbac}/clusterroles`,
      clusterRole(`${name}-x`, [rule(['get', 'list', 'watch'], ['events'])]),
    );
    expect([refused.status, refused.body.message]).toEqual([
      403,
      `clusterroles.rbac.authorization.k8s.io "${name}-x" is forbidden: user "ada" (groups=["${name}" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n` +
        '{APIGroups:[""], Resources:["events"], Verbs:["list" "watch"]}',
    ]);
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterroles`, clusterRole(`${name}-x`, [rule(['get'], ['events'])])))
        .status,
    ).toBe(201);
    expect(
      (
        await server.call(
          'ada',
          'PUT',
          `${rbac}/clusterroles/${name}-x`,
          clusterRole(`${name}-x`, [rule(['*'], ['*'])]),
        )
      ).status,
    ).toBe(403);
    // The refusal comes before that of the metadata.
    const badLabel = (rules: JsonObject[]): JsonObject => clusterRole(`${name}-z`, rules, { '-': '' });
    for (const [verbs, status] of [
      [['list'], 403],
      [['get'], 422],
    ] as const)
      expect(
        (await server.call('ada', 'POST', `${rbac}/clusterroles`, badLabel([rule([...verbs], ['events'])]))).status,
      ).toBe(status);
    // A dry run does not reveal whether it would work for another user.
    expect(
      (
        await server.call(
          'ada',
          'POST',
          `${rbac}/clusterroles?dryRun=All`,
          clusterRole(`${name}-y`, [rule(['list'], ['events'])]),
        )
      ).status,
    ).toBe(403);
  });

  test('an existing role, by a binding', async () => {
    await give(roleWriter);
    const refused = await server.call(
      'ada',
      'POST',
      `${rbac}/clusterrolebindings`,
      binding(`${name}-x`, 'cluster-admin', name),
    );
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining(
        'is attempting to grant RBAC permissions not currently held:\n{APIGroups:["*"], Resources:["*"], Verbs:["*"]}\n{NonResourceURLs:["*"], Verbs:["*"]}',
      ),
    ]);
    const absent = await server.call(
      'ada',
      'POST',
      `${rbac}/clusterrolebindings`,
      binding(`${name}-x`, 'absent', name),
    );
    expect([absent.status, absent.body.message]).toEqual([
      404,
      'clusterroles.rbac.authorization.k8s.io "absent" not found',
    ]);
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-x`, 'system:basic-user', name)))
        .status,
    ).toBe(201);
  });

  test('everything, by an aggregation rule', async () => {
    await give(roleWriter);
    const answer = await server.call('ada', 'POST', `${rbac}/clusterroles`, {
      ...clusterRole(`${name}-x`, []),
      aggregationRule: { clusterRoleSelectors: [{}] },
    });
    expect([answer.status, answer.body.message]).toEqual([
      403,
      expect.stringMatching(/must have cluster-admin privileges to use the aggregationRule$/),
    ]);
  });

  test('permissions in one namespace are not cluster-wide permissions', async () => {
    await give(roleWriter);
    await server.call(
      'root',
      'POST',
      `${rbac}/namespaces/default/rolebindings`,
      roleBinding(name, 'ClusterRole', 'edit'),
    );
    const role = { apiVersion, kind: 'Role', metadata: { name }, rules: [rule(['delete'], ['events'])] };
    expect((await server.call('ada', 'POST', `${rbac}/namespaces/default/roles`, role)).status).toBe(201);
    expect((await server.call('ada', 'POST', `${rbac}/namespaces/svc-system/roles`, role)).status).toBe(403);
    expect(
      (
        await server.call('ada', 'POST', `${rbac}/clusterroles`, {
          ...role,
          kind: 'ClusterRole',
          metadata: { name: `${name}-x` },
        })
      ).status,
    ).toBe(403);
  });

  test('unless the verbs escalate and bind allow it', async () => {
    const verbs = (verb: string, resourceNames: string[]): JsonObject => ({
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['clusterroles'],
      resourceNames,
      verbs: [verb],
    });
    await give(roleWriter, verbs('escalate', [`${name}-x`]), verbs('bind', ['cluster-admin']));
    await server.call('root', 'POST', `${rbac}/clusterroles`, clusterRole(`${name}-x`, []));
    expect(
      (
        await server.call(
          'ada',
          'PUT',
          `${rbac}/clusterroles/${name}-x`,
          clusterRole(`${name}-x`, [rule(['*'], ['*'])]),
        )
      ).status,
    ).toBe(200);
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-x`, 'cluster-admin', 'nobody')))
        .status,
    ).toBe(201);
    expect(
      (
        await server.call(
          'ada',
          'POST',
          `${rbac}/clusterrolebindings`,
          binding(`${name}-y`, 'system:plugins', 'nobody'),
        )
      ).status,
    ).toBe(403);
  });

  test('roles that the platform fills later', async () => {
    await give(roleWriter, rule(['get'], ['events']));
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    for (const prepared of [
      `system:plugin:${name}`,
      'system:plugin-impersonator',
      `${name}s.evil.example.com:view`,
      `${name}s.evil.example.com:manage`,
    ]) {
      for (const role of [clusterRole(prepared, []), clusterRole(prepared, [rule(['get'], ['events'])], labels)]) {
        expect(await server.call('ada', 'POST', `${rbac}/clusterroles`, role)).toMatchObject({
          status: 403,
          body: { message: expect.stringMatching(/needs the right to escalate it$/) },
        });
      }
    }
    expect(
      (
        await server.call('ada', 'POST', `${rbac}/clusterroles`, {
          ...clusterRole('', []),
          metadata: { generateName: 'system:plugin:' },
        })
      ).status,
    ).toBe(403);
    for (const own of [`${name}:view`, `system:plugged-${name}`])
      expect((await server.call('ada', 'POST', `${rbac}/clusterroles`, clusterRole(own, []))).status).toBe(201);

    const [ofPlugin, ofModel] = [`system:plugin:${name}`, `${name}s.example.com:view`];
    // Neither exists yet.
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-x`, ofPlugin, name))).status,
    ).toBe(403);
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-x`, ofModel, name))).status,
    ).toBe(404);
    for (const role of [ofPlugin, ofModel])
      expect(
        (await server.call('root', 'POST', `${rbac}/clusterroles`, clusterRole(role, [rule(['get'], ['events'])])))
          .status,
      ).toBe(201);
    expect(
      (
        await server.call(
          'ada',
          'PUT',
          `${rbac}/clusterroles/${ofModel}`,
          clusterRole(ofModel, [rule(['get'], ['events'])], labels),
        )
      ).status,
    ).toBe(403);
    // Ada holds its present rules, but they may change.
    expect(
      await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-x`, ofPlugin, name)),
    ).toMatchObject({ status: 403, body: { message: expect.stringMatching(/needs the right to bind it$/) } });
    expect(
      (
        await server.call(
          'ada',
          'POST',
          `${rbac}/namespaces/default/rolebindings`,
          roleBinding(`${name}-x`, 'ClusterRole', ofPlugin),
        )
      ).status,
    ).toBe(403);
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-x`, ofModel, name))).status,
    ).toBe(201);

    const platform = (verb: string, resourceNames: string[]): JsonObject => ({
      apiGroups: ['rbac.authorization.k8s.io'],
      resources: ['clusterroles'],
      resourceNames,
      verbs: [verb],
    });
    await server.call(
      'root',
      'PUT',
      `${rbac}/clusterroles/${name}`,
      clusterRole(name, [roleWriter, platform('escalate', [ofModel]), platform('bind', [ofPlugin])]),
    );
    expect(
      (await server.call('ada', 'PUT', `${rbac}/clusterroles/${ofModel}`, clusterRole(ofModel, [], labels))).status,
    ).toBe(200);
    expect(
      (await server.call('ada', 'POST', `${rbac}/clusterrolebindings`, binding(`${name}-y`, ofPlugin, name))).status,
    ).toBe(201);
  });

  test('rules that a label aggregates: the rules of a ClusterRole become part of the roles that select it', async () => {
    await give(roleWriter, rule(['get'], ['events']));
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    for (const [verb, status] of [
      ['delete', 403],
      ['get', 200],
    ] as const) {
      const role = `${name}-${verb}`;
      await server.call('root', 'POST', `${rbac}/clusterroles`, clusterRole(role, [rule([verb], ['events'])]));
      expect(
        (await server.call('ada', 'PUT', `${rbac}/clusterroles/${role}`, clusterRole(role, [rule([verb], ['events'])])))
          .status,
      ).toBe(200);
      expect(
        (
          await server.call(
            'ada',
            'PUT',
            `${rbac}/clusterroles/${role}`,
            clusterRole(role, [rule([verb], ['events'])], labels),
          )
        ).status,
      ).toBe(status);
    }
  });

  test('labels of a Role grant nothing', async () => {
    await give(roleWriter);
    const role = { apiVersion, kind: 'Role', metadata: { name }, rules: [rule(['delete'], ['events'])] };
    await server.call('root', 'POST', `${rbac}/namespaces/default/roles`, role);
    const labelled = (labels: JsonObject, verbs = ['delete']): JsonObject => ({
      ...role,
      metadata: { name, labels },
      rules: [rule(verbs, ['events'])],
    });
    expect(
      (await server.call('ada', 'PUT', `${rbac}/namespaces/default/roles/${name}`, labelled({ a: 'b' }))).status,
    ).toBe(200);
    expect(
      (await server.call('ada', 'PUT', `${rbac}/namespaces/default/roles/${name}`, labelled({ a: 'b' }, ['list'])))
        .status,
    ).toBe(403);
  });

  test('the permissions of a plugin', async () => {
    await give(
      { apiGroups: ['plugin.svc.run'], resources: ['plugins'], verbs: ['create', 'update'] },
      rule(['get'], ['events']),
    );
    const plugin = (permissions: JsonObject[]): JsonObject => ({
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name },
      spec: { version: '1.0.0', permissions },
    });
    const path = '/apis/plugin.svc.run/v1alpha1/plugins';
    const refused = await server.call('ada', 'POST', path, plugin([rule(['get', 'delete'], ['events'])]));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringContaining('{APIGroups:[""], Resources:["events"], Verbs:["delete"]}'),
    ]);
    expect((await server.call('ada', 'POST', path, plugin([rule(['get'], ['events'])]))).status).toBe(201);
    await server.call('root', 'PUT', `${path}/${name}`, plugin([rule(['*'], ['events'])]));
    // Unchanged permissions need not be held.
    expect(
      (
        await server.call('ada', 'PUT', `${path}/${name}`, {
          ...plugin([rule(['*'], ['events'])]),
          spec: { version: '1.0.1', permissions: [rule(['*'], ['events'])] },
        })
      ).status,
    ).toBe(200);
    expect((await server.call('ada', 'PUT', `${path}/${name}/status`, plugin([]))).status).toBe(403);
  });

  test('objects in the namespace of the platform: a plugin may only write Leases of positions', async () => {
    server.users.set('plugin', testUser(`system:plugin:${name}`, 'system:plugins'));
    const path = '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases';
    const lease = (leaseName: string, seconds = 15): JsonObject => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: leaseName },
      spec: { holderIdentity: 'mine', leaseDurationSeconds: seconds },
    });
    expect(await server.call('plugin', 'POST', path, lease('svc-controllers', 31_536_000))).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('needs the right to update Leases in all namespaces') },
    });
    expect((await server.call('root', 'POST', path, lease('svc-controllers'))).status).toBe(201);
    const taken = await server.call(
      'plugin',
      'PATCH',
      `${path}/svc-controllers`,
      { spec: { leaseDurationSeconds: 31_536_000 } },
      { 'Content-Type': 'application/merge-patch+json' },
    );
    expect(taken.status).toBe(403);
    expect((await server.call('plugin', 'POST', path, lease(`deleted-plugin-${name}`))).status).toBe(403);
    expect((await server.call('plugin', 'POST', path, lease(`resume-${name}`))).status).toBe(201);
    server.users.set('manager', testUser('manager', 'system:controllers'));
    expect((await server.call('manager', 'PUT', `${path}/svc-controllers`, lease('svc-controllers', 20))).status).toBe(
      200,
    );
  });

  test('the identity of an API server, by a Lease of its kind', async () => {
    await give({ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] });
    const path = '/apis/coordination.k8s.io/v1/namespaces/svc-system/leases';
    const lease = (leaseName: string): JsonObject => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: leaseName },
    });
    expect((await server.call('ada', 'POST', path, lease(name))).status).toBe(201);
    expect((await server.call('ada', 'POST', path, lease(`svc-apiserver-${name}`))).status).toBe(403);
    expect(
      (await server.call('ada', 'POST', path, { ...lease(''), metadata: { generateName: 'svc-apiserver-' } })).status,
    ).toBe(403);
    expect((await server.call('root', 'POST', path, lease(`svc-apiserver-${name}`))).status).toBe(201);
    const patched = await server.call(
      'ada',
      'PATCH',
      `${path}/svc-apiserver-${name}`,
      { metadata: { annotations: { 'svc.run/endpoint-key': 'mine' } } },
      { 'Content-Type': 'application/merge-patch+json' },
    );
    expect(patched.status).toBe(403);
  });
});

describe('a restricted credential', () => {
  test('may do what both its owner and its roles may do, and reviews report it', async () => {
    server.users.set('token', { ...testUser('root', 'system:masters'), restriction: { roles: ['view'] } });
    expect((await server.call('token', 'GET', events)).status).toBe(200);
    const refused = await server.call('token', 'DELETE', events);
    expect([refused.status, refused.body.message]).toEqual([
      403,
      expect.stringMatching(/: the credential is narrowed to roles that do not allow it$/),
    ]);
    expect((await server.call('token', 'GET', '/apis')).status).toBe(200);
    // Not even by writing a role: the credential's own rules are restricted too.
    server.users.set('token', {
      ...testUser('root', 'system:masters'),
      restriction: { roles: ['system:aggregate-to-admin'] },
    });
    const role = { apiVersion, kind: 'Role', metadata: { name }, rules: [rule(['list'], ['events'])] };
    expect((await server.call('token', 'POST', `${rbac}/namespaces/default/roles`, role)).status).toBe(403);
    expect(
      (
        await server.call('token', 'POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'SelfSubjectReview',
        })
      ).body.status.userInfo.extra,
    ).toEqual({
      'authentication.svc.run/restricted-to-roles': ['system:aggregate-to-admin'],
    });
  });
});

describe('a watch', () => {
  test('ends when its permission is removed', async () => {
    await give(rule(['watch'], ['events']));
    const stream = await server.watch('ada', `${events}?watch=true`);
    await server.call('root', 'DELETE', `${rbac}/clusterrolebindings/${name}`);
    const since = performance.now();
    expect((await stream.next()).value).toMatchObject({ type: 'ERROR', object: { code: 403 } });
    expect((await stream.next()).done).toBe(true);
    expect(performance.now() - since).toBeLessThan(20_000);
  });

  test('and a list inside the process are allowed by the name that they select, as over HTTP', async () => {
    await give(rule(['watch', 'list'], ['events'], { resourceNames: ['mine'] }));
    const client = new LoopbackClient({
      registry: server.registry,
      authorizer: new RbacAuthorizer(server.registry.roles),
      user: server.users.get('ada')!,
    });
    for (const fieldSelector of ['metadata.name=mine', 'metadata.name=mine,metadata.namespace=default']) {
      expect((await server.call('ada', 'GET', `${events}?fieldSelector=${fieldSelector}`)).status).toBe(200);
      for (const namespace of ['default', '']) {
        const { resourceVersion } = await client.list(eventType, { namespace, fieldSelector });
        const stream = await client.watch(eventType, { namespace, fieldSelector, resourceVersion });
        stream.close();
      }
    }
    for (const fieldSelector of ['metadata.name=other', 'metadata.namespace in (default,metadata.name=mine)'])
      await expect(client.list(eventType, { namespace: 'default', fieldSelector })).rejects.toMatchObject({
        code: 403,
      });
    await expect(client.list(eventType, { namespace: 'default' })).rejects.toMatchObject({ code: 403 });
    client.close();
  });

  test('inside the process ends too', async () => {
    await give(rule(['watch', 'list'], ['events']));
    const client = new LoopbackClient({
      registry: server.registry,
      authorizer: new RbacAuthorizer(server.registry.roles),
      user: server.users.get('ada')!,
    });
    const { resourceVersion } = await client.list(eventType, { namespace: 'default' });
    const stream = await client.watch(eventType, { namespace: 'default', resourceVersion });
    await server.call('root', 'DELETE', `${rbac}/clusterroles/${name}`);
    const all = (async () => {
      for await (const event of stream) expect(event).toBe('none');
    })();
    await expect(all).rejects.toMatchObject({ code: 403 });
    client.close();
  });

  test('ends when the credential is no longer valid', async () => {
    await give(rule(['watch'], ['events']));
    const stream = await server.watch('ada', `${events}?watch=true`);
    server.users.delete('ada');
    expect((await stream.next()).value).toMatchObject({ type: 'ERROR', object: { code: 401 } });
  });
});

test('a replica without the newest roles answers 503 to all but system:masters', async () => {
  const { roles } = server.registry;
  const authorizer = new RbacAuthorizer(roles, { maxLagMs: 1500 });
  const attributes = {
    verb: 'get',
    group: '',
    version: 'v1',
    resource: 'events',
    subresource: '',
    namespace: 'default',
    name: 'x',
    isResourceRequest: true,
    path: '',
  };
  const auditor = testUser('eve', 'svc:system-auditors');
  await pollUntil(() => roles.lagMs < 1000);
  expect((await authorizer.authorize({ ...attributes, user: auditor })).allowed).toBe(true);
  const other = new Client(server.connection);
  await other.connect();
  try {
    await other.query('BEGIN; LOCK TABLE platform.change_log IN ACCESS EXCLUSIVE MODE');
    await pollUntil(() => roles.lagMs > 1500);
    await expect(authorizer.authorize({ ...attributes, user: auditor })).rejects.toMatchObject({
      code: 503,
      details: { retryAfterSeconds: 1 },
    });
    await expect(
      authorizer.authorize({
        ...attributes,
        user: { ...testUser('root', 'system:masters'), restriction: { roles: ['view'] } },
      }),
    ).rejects.toMatchObject({ code: 503 });
    expect((await authorizer.authorize({ ...attributes, user: testUser('root', 'system:masters') })).allowed).toBe(
      true,
    );
  } finally {
    await other.end();
  }
  await pollUntil(() => roles.lagMs < 1000);
  expect((await authorizer.authorize({ ...attributes, user: auditor })).allowed).toBe(true);
});
