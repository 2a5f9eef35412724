import type { SeededRandom } from '../../harness/seeded-random.ts';
import { audienceGroup } from './audiences-plugin.ts';
import type { Binding, ClusterRole, Role, RoleBook, Rule, Subject } from '../model/rbac.ts';

export const modelGroup = 'matrix.svc.example';
const groups = [
  modelGroup,
  modelGroup,
  modelGroup,
  '',
  'apiextensions.k8s.io',
  'rbac.authorization.k8s.io',
  'plugin.svc.run',
  'coordination.k8s.io',
  'authorization.k8s.io',
  'authentication.k8s.io',
  ...(['console', 'uc', 'public'] as const).map(audienceGroup),
];
const resources = [
  'gadgets',
  'widgets',
  'gadgets/status',
  'widgets/status',
  '*/status',
  'gadgets/*',
  'namespaces',
  'events',
  'users',
  'groups',
  'customresourcedefinitions',
  'clusterroles',
  'clusterrolebindings',
  'roles',
  'rolebindings',
  'plugins',
  'leases',
  'subjectaccessreviews',
  'tokenreviews',
  'localsubjectaccessreviews',
  'stats',
  'notes',
  'notes/marks',
  'closed',
];
const verbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'bind',
  'escalate',
  'impersonate',
];
const names = ['one', 'two', 'view', 'default', 'matrix-free', 'matrix-red', 'matrix-stranger'];
const paths = ['/metrics', '/matrix/*', '/matrix/nothing', '/mat*', '*'];

/** The subjects and places of the roles. */
export interface RoleGround {
  readonly usernames: readonly string[];
  readonly groups: readonly string[];
  readonly namespaces: readonly string[];
}

/** Roles and bindings of all forms, small enough that most requests are still refused. */
export function randomRoles(random: SeededRandom, ground: RoleGround): RoleBook {
  const clusterRoles: ClusterRole[] = Array.from({ length: 24 }, (_, i) => ({
    name: `matrix-${i}`,
    ...(random.chance(0.5) ? { labels: { [`matrix.svc.example/part-${random.below(3)}`]: 'true' } } : {}),
    ...(i % 8 === 7
      ? { rules: [], aggregates: [0, 1].map(() => ({ [`matrix.svc.example/part-${random.below(3)}`]: 'true' })) }
      : { rules: rules(random, true) }),
  }));
  const roles: Role[] = Array.from({ length: 10 }, (_, i) => ({
    name: `matrix-${i}`,
    namespace: random.pick(ground.namespaces),
    rules: rules(random, false),
  }));
  const toSomebody = (): Subject[] =>
    Array.from({ length: 1 + random.below(2) }, () =>
      random.chance(0.6)
        ? { kind: 'User', name: random.pick(ground.usernames) }
        : { kind: 'Group', name: random.pick(ground.groups) },
    );
  const everywhere = Array.from({ length: 14 }, (_, i): Binding => ({
    name: `matrix-${i}`,
    role: { kind: 'ClusterRole', name: i === 0 ? 'matrix-of-no-rules' : `matrix-${random.below(clusterRoles.length)}` },
    subjects: toSomebody(),
  }));
  const inNamespaces = Array.from({ length: 24 }, (_, i): Binding => {
    const role = random.pick(roles);
    const name = `matrix-${i}`;
    if (random.chance(0.4))
      return { name, namespace: role.namespace, role: { kind: 'Role', name: role.name }, subjects: toSomebody() };
    return {
      name,
      namespace: random.pick(ground.namespaces),
      role: {
        kind: 'ClusterRole',
        name: random.chance(0.3) ? random.pick(['view', 'edit', 'admin']) : random.pick(clusterRoles).name,
      },
      subjects: toSomebody(),
    };
  });
  return { clusterRoles, roles, bindings: [...everywhere, ...inNamespaces] };
}

function rules(random: SeededRandom, isForCluster: boolean): Rule[] {
  return Array.from({ length: 1 + random.below(3) }, () => {
    const own = random.chance(0.06) ? ['*'] : several(random, verbs);
    if (isForCluster && random.chance(0.15))
      return {
        verbs: random.chance(0.5) ? ['get', 'head'] : own,
        nonResourceURLs: [random.pick(paths.slice(0, random.chance(0.2) ? 5 : 4))],
      };
    return {
      verbs: own,
      apiGroups: random.chance(0.06) ? ['*'] : several(random, groups),
      resources: random.chance(0.06) ? ['*'] : several(random, resources),
      ...(random.chance(0.25) ? { resourceNames: several(random, names) } : {}),
    };
  });
}

function several(random: SeededRandom, values: readonly string[]): string[] {
  return [...new Set(Array.from({ length: 1 + random.below(4) }, () => random.pick(values)))];
}
