import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  equalJson,
  isStatusError,
  type AnyObject,
  type Client,
  type JsonObject,
  type ResourceType,
  type Stored,
} from '#pkg/apimachinery/index';
import {
  clusterRoleBindingType,
  clusterRoleType,
  definitionType,
  pluginType,
  type Plugin,
  type PolicyRule,
} from '#pkg/apis/index';
import { startTestEnv, type TestEnv } from '#pkg/testenv/index';
import {
  bossType,
  defineThings,
  pollUntil,
  newThing,
  runControllers,
  teamType,
} from '../controllerstest/owned-models.ts';

let env: TestEnv;
let client: Client;
let stop: () => Promise<void>;

beforeAll(async () => {
  env = await startTestEnv({ replicas: 2 });
  client = env.servers[0]!.client;
  stop = runControllers(env.servers[1]!.client);
});
afterAll(async () => {
  await stop();
  await env.stop();
});

const keyOf = (name: string) => ({ namespace: '', name });
const allVerbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'];

async function find<T extends AnyObject>(type: ResourceType<T>, name: string): Promise<Stored<T> | undefined> {
  try {
    return await client.get(type, keyOf(name));
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

async function rulesOf(role: string): Promise<PolicyRule[] | undefined> {
  return (await find(clusterRoleType, role))?.rules;
}

function becomes(role: string, expected: PolicyRule[] | undefined): Promise<void> {
  return pollUntil(async () =>
    equalJson((await rulesOf(role)) as unknown as JsonObject[], expected as unknown as JsonObject[]),
  );
}

const merge = (type: ResourceType, name: string, patch: JsonObject): Promise<unknown> =>
  client.patch(type, keyOf(name), { type: 'merge', patch });

describe('roles of models', () => {
  const [view, manage] = ['bosses.owned.example.com:view', 'bosses.owned.example.com:manage'];
  const type = { ...bossType, plural: 'bosses' };
  const viewRules = [{ verbs: ['get', 'list', 'watch'], apiGroups: ['owned.example.com'], resources: ['bosses'] }];
  const serve = (served: boolean): Promise<unknown> =>
    client.patch(definitionType, keyOf('bosses.owned.example.com'), {
      type: 'json',
      patch: [{ op: 'replace', path: '/spec/versions/0/served', value: served }],
    });
  const isThere = (role: string, expected: boolean): Promise<void> =>
    pollUntil(async () => ((await find(clusterRoleType, role)) !== undefined) === expected);

  test('are created with a definition, and the roles that aggregate them have their rules', async () => {
    await client.create(clusterRoleType, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'sees-all' },
      aggregationRule: {
        clusterRoleSelectors: [{ matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } }],
      },
    });
    await defineThings(env, [type]);
    await Promise.all([isThere(view, true), isThere(manage, true)]);
    const definition = await client.get(definitionType, keyOf('bosses.owned.example.com'));
    expect(await find(clusterRoleType, view)).toMatchObject({
      metadata: {
        labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
        ownerReferences: [
          {
            apiVersion: 'apiextensions.k8s.io/v1',
            kind: 'CustomResourceDefinition',
            name: 'bosses.owned.example.com',
            uid: definition.metadata.uid,
          },
        ],
      },
      rules: viewRules,
    });
    expect(await find(clusterRoleType, manage)).toMatchObject({
      metadata: { labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } },
      rules: [{ verbs: allVerbs, apiGroups: ['owned.example.com'], resources: ['bosses'] }],
    });
    await pollUntil(async () => JSON.stringify(await rulesOf('sees-all')).includes('bosses'));
  });

  test('include the existing subresources', async () => {
    await merge(definitionType, 'bosses.owned.example.com', { metadata: { labels: { a: 'b' } } });
    const patch = [
      {
        op: 'add',
        path: '/spec/versions/0/subresources',
        value: { status: {}, scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' } },
      },
    ];
    await client.patch(definitionType, keyOf('bosses.owned.example.com'), { type: 'json', patch });
    await becomes(view, [{ ...viewRules[0]!, resources: ['bosses', 'bosses/status', 'bosses/scale'] }]);
    await client.patch(definitionType, keyOf('bosses.owned.example.com'), {
      type: 'json',
      patch: [{ op: 'remove', path: '/spec/versions/0/subresources' }],
    });
    await becomes(view, viewRules);
  });

  test('are restored after somebody changed or deleted them, and keep the changes of others', async () => {
    await merge(clusterRoleType, view, {
      rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }],
      metadata: {
        labels: {
          'rbac.authorization.k8s.io/aggregate-to-view': null,
          'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
          mine: 'x',
        },
        annotations: { note: 'y' },
        ownerReferences: null,
      },
    });
    await becomes(view, viewRules);
    await pollUntil(async () => (await find(clusterRoleType, view))?.metadata.ownerReferences?.length === 1);
    const { labels, annotations } = (await find(clusterRoleType, view))!.metadata;
    expect([labels, annotations]).toEqual([
      { 'rbac.authorization.k8s.io/aggregate-to-view': 'true', mine: 'x' },
      { note: 'y' },
    ]);
    await client.delete(clusterRoleType, keyOf(manage));
    await isThere(manage, true);
  });

  test('are deleted while the definition is not served, and with it', async () => {
    await serve(false);
    await Promise.all([isThere(view, false), isThere(manage, false)]);
    await serve(true);
    await Promise.all([isThere(view, true), isThere(manage, true)]);
    await client.create(clusterRoleType, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'absent.owned.example.com:view' },
      rules: viewRules,
    });
    await client.delete(definitionType, keyOf('bosses.owned.example.com'), { propagationPolicy: 'Foreground' });
    await Promise.all([isThere(view, false), isThere(manage, false)]);
    await pollUntil(async () => (await find(definitionType, 'bosses.owned.example.com')) === undefined);
    // A role that a user created for a missing model stays.
    expect(await rulesOf('absent.owned.example.com:view')).toEqual(viewRules);
    await pollUntil(async () => !JSON.stringify(await rulesOf('sees-all')).includes('bosses'));
  });
});

test('roles of a definition that is being deleted exist while objects are left, even if no version was served', async () => {
  const name = 'teams.owned.example.com';
  const type = { ...teamType, namespaced: false };
  const held = { ...newThing(type, 'held'), metadata: { name: 'held', finalizers: ['test.example.com/held'] } };
  const areThere = (expected: boolean): Promise<void> =>
    pollUntil(async () =>
      (await Promise.all([`${name}:view`, `${name}:manage`].map((role) => find(clusterRoleType, role)))).every(
        (role) => (role !== undefined) === expected,
      ),
    );
  await defineThings(env, [type]);
  await client.create(type, held);
  await client.patch(definitionType, keyOf(name), {
    type: 'json',
    patch: [{ op: 'replace', path: '/spec/versions/0/served', value: false }],
  });
  await areThere(false);
  await client.delete(definitionType, keyOf(name));
  await areThere(true);
  expect(await rulesOf(`${name}:manage`)).toEqual([
    { verbs: allVerbs, apiGroups: ['owned.example.com'], resources: ['teams'] },
  ]);
  await merge(type, 'held', { metadata: { finalizers: null } });
  await pollUntil(async () => (await find(definitionType, name)) === undefined);
  await areThere(false);
});

test.each(['Foreground', 'Orphan'] as const)(
  'roles do not block a deletion that waits for what the definition owns: %s',
  async (propagationPolicy) => {
    const name = 'teams.owned.example.com';
    await defineThings(env, [teamType]);
    await pollUntil(async () => (await find(clusterRoleType, `${name}:manage`)) !== undefined);
    await client.delete(definitionType, keyOf(name), { propagationPolicy });
    await pollUntil(async () => (await find(definitionType, name)) === undefined);
  },
);

describe('roles of plugins', () => {
  const permissions = [{ apiGroups: ['todo.example.com'], resources: ['tasks'], verbs: ['get', 'list'] }];
  const user = 'system:plugin:todo';
  const create = (name: string, spec: Partial<Plugin['spec']> = {}): Promise<Stored<Plugin>> =>
    client.create(pluginType, {
      apiVersion: 'plugin.svc.run/v1alpha1',
      kind: 'Plugin',
      metadata: { name },
      spec: { version: '1.0.0', ...spec },
    });

  test('have the rules of its permissions, and are bound to its user', async () => {
    await pollUntil(async () => (await rulesOf('system:plugin-impersonator')) !== undefined);
    // A rule without names would apply to all users.
    expect(await rulesOf('system:plugin-impersonator')).toEqual([]);
    const plugin = await create('todo', { permissions });
    const owner = { apiVersion: 'plugin.svc.run/v1alpha1', kind: 'Plugin', name: 'todo', uid: plugin.metadata.uid };
    await becomes(user, [{ verbs: ['get', 'list'], apiGroups: ['todo.example.com'], resources: ['tasks'] }]);
    await pollUntil(async () => (await find(clusterRoleBindingType, user)) !== undefined);
    expect(await find(clusterRoleType, user)).toMatchObject({ metadata: { ownerReferences: [owner] } });
    expect(await find(clusterRoleBindingType, user)).toMatchObject({
      metadata: { ownerReferences: [owner] },
      roleRef: { kind: 'ClusterRole', name: user },
      subjects: [{ kind: 'User', name: user }],
    });
    await merge(pluginType, 'todo', { spec: { permissions: [{ ...permissions[0]!, resourceNames: ['a'] }] } });
    await becomes(user, [
      { verbs: ['get', 'list'], apiGroups: ['todo.example.com'], resources: ['tasks'], resourceNames: ['a'] },
    ]);
    await merge(pluginType, 'todo', { spec: { permissions: null } });
    await becomes(user, []);
  });

  test('are restored after somebody changed or deleted them', async () => {
    await merge(clusterRoleType, user, { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] });
    await becomes(user, []);
    await merge(clusterRoleBindingType, user, { subjects: [{ kind: 'User', name: 'eve' }] });
    const subjects = async (): Promise<string> =>
      ((await find(clusterRoleBindingType, user))?.subjects ?? []).map(({ name }) => name).join();
    await pollUntil(async () => (await subjects()) === user);
    await client.delete(clusterRoleBindingType, keyOf(user));
    await pollUntil(async () => (await subjects()) === user);
  });

  test('are aggregated by no other role, even if one was prepared for it', async () => {
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true', mine: 'x' };
    await client.create(clusterRoleType, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'system:plugin:later', labels },
      rules: [],
    });
    await create('later', { permissions });
    await becomes('system:plugin:later', [
      { verbs: ['get', 'list'], apiGroups: ['todo.example.com'], resources: ['tasks'] },
    ]);
    expect((await find(clusterRoleType, 'system:plugin:later'))?.metadata.labels).toEqual({ mine: 'x' });
    await client.delete(pluginType, keyOf('later'));
    await pollUntil(
      async () =>
        (await find(clusterRoleType, 'system:plugin:later')) === undefined &&
        (await find(clusterRoleBindingType, 'system:plugin:later')) === undefined,
    );
  });

  test('a binding of the same name that grants another role is replaced', async () => {
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'system:plugin:later' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole' as const, name: 'cluster-admin' },
      subjects: [],
    };
    await client.create(clusterRoleBindingType, binding);
    await create('later');
    await pollUntil(
      async () => (await find(clusterRoleBindingType, 'system:plugin:later'))?.roleRef.name === 'system:plugin:later',
    );
  });

  test('invalid permissions are reported on the plugin', async () => {
    await create('bad', { permissions: [{ apiGroups: [], resources: ['x'], verbs: ['get'] }] });
    const events = async (): Promise<string> =>
      await (await env.request('/api/v1/namespaces/default/events?fieldSelector=reason%3DPermissionsInvalid')).text();
    await pollUntil(async () => (await events()).includes('must supply at least one api group'));
    expect(await find(clusterRoleBindingType, 'system:plugin:bad')).toBeUndefined();
  });

  test('a controller-manager may act as the existing plugins, and no others', async () => {
    const rule = (resources: string[], resourceNames: string[]): PolicyRule => ({
      verbs: ['impersonate'],
      apiGroups: [''],
      resources,
      resourceNames,
    });
    const [groups, name] = [rule(['groups'], ['system:plugins']), 'system:plugin-impersonator'];
    await becomes(name, [rule(['users'], ['system:plugin:bad', 'system:plugin:later', user]), groups]);
    expect(await find(clusterRoleBindingType, name)).toMatchObject({
      roleRef: { name },
      subjects: [{ kind: 'Group', name: 'system:controllers' }],
    });
    await merge(clusterRoleType, name, { rules: [{ ...rule(['users'], []) }] });
    await becomes(name, [rule(['users'], ['system:plugin:bad', 'system:plugin:later', user]), groups]);
    for (const plugin of ['todo', 'later', 'bad']) await client.delete(pluginType, keyOf(plugin));
    await becomes(name, []);
    await pollUntil(
      async () =>
        (await find(clusterRoleType, user)) === undefined && (await find(clusterRoleBindingType, user)) === undefined,
    );
  });
});

test('nothing is written if everything is up to date', async () => {
  const versions = async (): Promise<unknown> => {
    const roles: Stored<AnyObject>[] = [
      ...(await client.list(clusterRoleType)).items,
      ...(await client.list(clusterRoleBindingType)).items,
    ];
    // That role lists the plugin that the test waits for.
    return roles
      .filter(({ metadata }) => metadata.name !== 'system:plugin-impersonator')
      .map(({ kind, metadata }) => [kind, metadata.name, metadata.resourceVersion]);
  };
  await defineThings(env, [bossType]);
  const has = async (role: string, verb: string): Promise<boolean> =>
    ((await rulesOf(role)) ?? []).some(
      ({ resources, verbs }) => resources?.includes('bosss') === true && verbs.includes(verb),
    );
  // All roles that aggregate them have their final rules.
  await pollUntil(
    async () =>
      (await has('sees-all', 'get')) &&
      (await has('view', 'get')) &&
      (await has('edit', 'create')) &&
      (await has('admin', 'create')),
  );
  const before = await versions();
  await stop();
  stop = runControllers(env.servers[1]!.client);
  await client.create(pluginType, {
    apiVersion: 'plugin.svc.run/v1alpha1',
    kind: 'Plugin',
    metadata: { name: 'last' },
    spec: { version: '1.0.0' },
  });
  await pollUntil(
    async () =>
      JSON.stringify(await rulesOf('system:plugin-impersonator')).includes('last') &&
      (await find(clusterRoleBindingType, 'system:plugin:last')) !== undefined,
  );
  await client.delete(pluginType, keyOf('last'));
  await pollUntil(
    async () =>
      (await find(clusterRoleType, 'system:plugin:last')) === undefined &&
      (await find(clusterRoleBindingType, 'system:plugin:last')) === undefined,
  );
  expect(await versions()).toEqual(before);
});
