import type { SeededRandom } from '../../harness/seeded-random.ts';
import { builtInBindings, builtInRoles } from '../model/built-in-roles.ts';
import { namespaceOf, type Person } from '../model/person.ts';
import type { Binding, ClusterRole, RoleBook } from '../model/rbac.ts';
import { definitionOf } from './definition-of.ts';
import { customGroups } from './people.ts';
import { modelGroup, randomRoles } from './random-roles.ts';
import type { WorldApi } from './world-api.ts';

const rbacGroup = 'rbac.authorization.k8s.io';
const base = `/apis/${rbacGroup}/v1`;
const models = [
  { kind: 'Gadget', plural: 'gadgets', scope: 'Cluster' },
  { kind: 'Widget', plural: 'widgets', scope: 'Namespaced' },
] as const;
/** Written last: once its permission is known, all earlier ones are. */
const sentinel = 'matrix-sentinel';

/** Creates models with objects, random roles and their bindings; resolves when every replica uses all of them. */
export async function prepareRoles(
  api: WorldApi,
  random: SeededRandom,
  { people, orgs }: { people: readonly Person[]; orgs: Readonly<Record<'a' | 'b' | 'empty', string>> },
): Promise<RoleBook> {
  const ofMembers = [orgs.a, orgs.b].map(namespaceOf);
  const namespaces = [...ofMembers, 'default', 'matrix-free'];
  for (const model of models)
    await api.platform('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      body: definitionOf(model),
    });
  await api.platform('POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'matrix-free' } },
  });
  await makeObjects(api, namespaces);
  const roleInputs = {
    usernames: people.map(({ username }) => username),
    groups: [
      ...customGroups,
      ...customGroups,
      `org:${orgs.a}:OrgUser`,
      `org:${orgs.b}:OrgAdmin`,
      'svc:system-auditors',
    ],
    namespaces: [ofMembers[0]!, 'matrix-free', 'default'],
  };
  const made = randomRoles(random, roleInputs);
  const ofNoRules: ClusterRole = { name: 'matrix-of-no-rules', rules: [] };
  const last: Binding = {
    name: sentinel,
    role: { kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'User', name: sentinel }],
  };
  for (const role of [ofNoRules, ...made.clusterRoles])
    await api.platform('POST', `${base}/clusterroles`, { body: clusterRoleOf(role) });
  for (const role of made.roles)
    await api.platform('POST', `${base}/namespaces/${role.namespace}/roles`, {
      body: { apiVersion: `${rbacGroup}/v1`, kind: 'Role', metadata: { name: role.name }, rules: role.rules },
    });
  await waitForControllers(api, namespaces);
  for (const binding of [...made.bindings, last])
    await api.platform(
      'POST',
      `${base}/${binding.namespace === undefined ? 'clusterrolebindings' : `namespaces/${binding.namespace}/rolebindings`}`,
      { body: bindingOf(binding) },
    );
  for (const server of ['platform', 'basic'] as const)
    await api.until(`${server} knows the newest binding`, () => isAllowed(api, server, sentinel));
  const known = models.map(({ plural }) => ({ group: modelGroup, plural }));
  return {
    clusterRoles: [...builtInRoles(known), ofNoRules, ...made.clusterRoles],
    roles: made.roles,
    bindings: [...builtInBindings(Object.values(orgs)), ...made.bindings, last],
  };
}

async function makeObjects(api: WorldApi, namespaces: readonly string[]): Promise<void> {
  const apiVersion = `${modelGroup}/v1`;
  for (const server of ['platform', 'basic'] as const) {
    await api.until(`${server} serves the models`, async () => {
      for (const { plural } of models) await api.platform('GET', `/apis/${apiVersion}/${plural}`, { server });
      return true;
    });
  }
  for (const name of ['one', 'two']) {
    await api.platform('POST', `/apis/${apiVersion}/gadgets`, {
      body: { apiVersion, kind: 'Gadget', metadata: { name }, spec: { size: 2 } },
    });
    for (const namespace of namespaces)
      await api.platform('POST', `/apis/${apiVersion}/namespaces/${namespace}/widgets`, {
        body: { apiVersion, kind: 'Widget', metadata: { name }, spec: { size: 2 } },
      });
  }
}

/** Controllers create the roles of models and of members of organizations with a delay. */
async function waitForControllers(api: WorldApi, namespaces: readonly string[]): Promise<void> {
  for (const { plural } of models) {
    for (const right of ['view', 'manage'])
      await api.until(
        `${plural} have their role ${right}`,
        async () => (await api.platform('GET', `${base}/clusterroles/${plural}.${modelGroup}:${right}`)) !== undefined,
      );
  }
  for (const namespace of namespaces.filter((each) => each !== 'matrix-free')) {
    for (const name of ['svc:org-admins', 'svc:org-users', 'svc:org-auditors'])
      await api.until(
        `${namespace} has its ${name}`,
        async () => (await api.platform('GET', `${base}/namespaces/${namespace}/rolebindings/${name}`)) !== undefined,
      );
  }
}

async function isAllowed(api: WorldApi, server: 'platform' | 'basic', user: string): Promise<boolean> {
  const spec = { user, resourceAttributes: { verb: 'list', group: modelGroup, resource: 'gadgets' } };
  const { status } = await api.platform<{ status: { allowed: boolean } }>(
    'POST',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    { server, body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec } },
  );
  return status.allowed;
}

function clusterRoleOf({ name, labels, rules, aggregates }: ClusterRole): object {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: 'ClusterRole',
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    ...(aggregates === undefined
      ? { rules }
      : { aggregationRule: { clusterRoleSelectors: aggregates.map((matchLabels) => ({ matchLabels })) }, rules: [] }),
  };
}

function bindingOf({ name, namespace, role, subjects }: Binding): object {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
    metadata: { name },
    roleRef: { apiGroup: rbacGroup, ...role },
    subjects: subjects.map((subject) => ({ apiGroup: rbacGroup, ...subject })),
  };
}
