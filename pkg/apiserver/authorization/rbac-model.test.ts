import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { ClusterRole, PolicyRule, RoleBinding, Subject } from '#pkg/apis/index';
import type { Attributes } from '#pkg/identity/index';
import { RbacAuthorizer } from './rbac-authorizer.ts';
import { RoleIndex } from './role-index.ts';

/**
 * The documented rules of Kubernetes in the simplest form, without an index: each check visits all objects. Source:
 * kubernetes.io/docs/reference/access-authn-authz/rbac.
 */
class NaiveRbac {
  readonly clusterRoles = new Map<string, ClusterRole>();
  readonly roles = new Map<string, ClusterRole>();
  readonly bindings = new Map<string, RoleBinding & { namespace: string }>();

  allows({ user, ...asked }: Attributes): boolean {
    const { restriction, groups } = user;
    if (restriction !== undefined) {
      const named = [...restriction.roles, 'system:basic-user', 'system:discovery'];
      if (!named.some((name) => this.#rulesOf(name, []).some((rule) => ruleAllows(rule, asked)))) return false;
    }
    if (groups.includes('system:masters')) return true;
    return [...this.bindings.values()].some(({ namespace, roleRef, subjects = [] }) => {
      if (namespace !== '' && namespace !== asked.namespace) return false;
      if (!subjects.some((subject) => isMeant(subject, user, namespace))) return false;
      const rules =
        roleRef.kind === 'Role'
          ? (this.roles.get(`${namespace}/${roleRef.name}`)?.rules ?? [])
          : this.#rulesOf(roleRef.name, []);
      return rules.some((rule) => ruleAllows(rule, asked));
    });
  }

  #rulesOf(name: string, above: readonly string[]): PolicyRule[] {
    const role = this.clusterRoles.get(name);
    if (role === undefined || above.includes(name)) return [];
    const { aggregationRule } = role;
    if (aggregationRule === undefined) return role.rules ?? [];
    const selected = [...this.clusterRoles.values()].filter(({ metadata }) =>
      (aggregationRule.clusterRoleSelectors ?? []).some((selector) => selects(selector, metadata.labels ?? {})),
    );
    return selected.flatMap(({ metadata }) => this.#rulesOf(metadata.name, [...above, name]));
  }
}

function selects(
  {
    matchLabels = {},
    matchExpressions = [],
  }: NonNullable<NonNullable<ClusterRole['aggregationRule']>['clusterRoleSelectors']>[number],
  labels: Record<string, string>,
): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === 'Exists') return value !== undefined;
      if (operator === 'DoesNotExist') return value === undefined;
      return operator === 'In'
        ? value !== undefined && values.includes(value)
        : value === undefined || !values.includes(value);
    })
  );
}

function isMeant({ kind, name, namespace }: Subject, user: Attributes['user'], bound: string): boolean {
  if (kind === 'Group') return user.groups.includes(name);
  if (kind === 'User') return user.name === name;
  return user.name === `system:serviceaccount:${namespace ?? bound}:${name}`;
}

function ruleAllows(
  { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule,
  asked: Omit<Attributes, 'user'>,
): boolean {
  if (!verbs.includes('*') && !verbs.includes(asked.verb)) return false;
  if (!asked.isResourceRequest)
    return nonResourceURLs.some((url) =>
      url.endsWith('*') ? asked.path.startsWith(url.slice(0, -1)) : url === asked.path,
    );
  const full = asked.subresource === '' ? asked.resource : `${asked.resource}/${asked.subresource}`;
  const isResource =
    resources.includes('*') ||
    resources.includes(full) ||
    (asked.subresource !== '' && resources.includes(`*/${asked.subresource}`));
  const isGroup = apiGroups.includes('*') || apiGroups.includes(asked.group);
  return isResource && isGroup && (resourceNames.length === 0 || resourceNames.includes(asked.name));
}

// Few values, so that they often match.
const verb = fc.constantFrom('get', 'list', 'create', 'delete', '*');
const group = fc.constantFrom('', 'a.io', 'b.io', '*');
const resource = fc.constantFrom('posts', 'tags', 'posts/status', 'tags/scale', '*/status', '*');
const objectName = fc.constantFrom('x', 'y');
const url = fc.constantFrom('/metrics', '/docs', '/docs/*', '/apis/*', '*');
const place = fc.constantFrom('one', 'two');
const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(arbitrary, { minLength: 1, maxLength: 3 });
const roleName = fc.constantFrom('r1', 'r2', 'r3', 'r4', 'r5', 'r6', 'system:basic-user');
const label = fc.constantFrom('to-a', 'to-b', 'to-c');

const resourceRule: fc.Arbitrary<PolicyRule> = fc.record(
  { verbs: some(verb), apiGroups: some(group), resources: some(resource), resourceNames: some(objectName) },
  { requiredKeys: ['verbs', 'apiGroups', 'resources'] },
);
const urlRule: fc.Arbitrary<PolicyRule> = fc.record({ verbs: some(verb), nonResourceURLs: some(url) });
const labels = fc.dictionary(label, fc.constantFrom('true', 'no'), { maxKeys: 2, noNullPrototype: true });
const selector = fc.oneof(
  fc.record({
    matchLabels: fc.dictionary(label, fc.constant('true'), { minKeys: 1, maxKeys: 1, noNullPrototype: true }),
  }),
  fc.record({
    matchExpressions: some(
      fc.oneof(
        fc.record({ key: label, operator: fc.constantFrom('Exists', 'DoesNotExist') }),
        fc.record({
          key: label,
          operator: fc.constantFrom('In', 'NotIn'),
          values: some(fc.constantFrom('true', 'no')),
        }),
      ),
    ),
  }),
);
const rules = fc.array(fc.oneof({ weight: 4, arbitrary: resourceRule }, { weight: 1, arbitrary: urlRule }), {
  maxLength: 3,
});
const subject: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({ kind: fc.constant('User' as const), name: fc.constantFrom('ada', 'ben') }),
  fc.record({ kind: fc.constant('Group' as const), name: fc.constantFrom('g1', 'g2') }),
  fc.record({ kind: fc.constant('ServiceAccount' as const), name: fc.constant('robot'), namespace: place }),
);

const isGone = fc.constantFrom(false, false, false, true);

const change = fc.oneof(
  fc.record({ type: fc.constant('clusterRole' as const), name: roleName, labels, rules, isGone }),
  fc.record({
    type: fc.constant('clusterRole' as const),
    name: roleName,
    labels,
    rules: fc.constant<PolicyRule[]>([]),
    isGone: fc.constant(false),
    selectors: some(selector),
  }),
  fc.record({
    type: fc.constant('role' as const),
    name: roleName,
    namespace: place,
    rules: fc.array(resourceRule, { maxLength: 3 }),
    isGone,
  }),
  fc.record({
    type: fc.constant('binding' as const),
    name: fc.constantFrom('b1', 'b2', 'b3', 'b4', 'b5'),
    namespace: fc.constantFrom('', '', 'one', 'two'),
    kind: fc.constantFrom('Role' as const, 'ClusterRole' as const),
    role: roleName,
    subjects: some(subject),
    isGone,
  }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const question: fc.Arbitrary<Attributes> = fc.record({
  user: fc.record(
    {
      name: fc.constantFrom('ada', 'ben', 'system:serviceaccount:one:robot'),
      uid: fc.constant(''),
      groups: fc
        .subarray(['g1', 'g2'])
        .chain((groups) => fc.constantFrom(groups, groups, groups, [...groups, 'system:masters'])),
      restriction: fc.record({ roles: fc.array(roleName, { maxLength: 2 }) }),
    },
    { requiredKeys: ['name', 'uid', 'groups'] },
  ),
  verb: fc.constantFrom('get', 'list', 'create', 'delete'),
  group: fc.constantFrom('', 'a.io', 'b.io'),
  version: fc.constant('v1'),
  resource: fc.constantFrom('posts', 'tags'),
  subresource: fc.constantFrom('', 'status', 'scale'),
  namespace: fc.constantFrom('', 'one', 'two'),
  name: fc.constantFrom('', 'x', 'y'),
  isResourceRequest: fc.constantFrom(true, true, true, false),
  path: fc.constantFrom('/metrics', '/docs', '/docs/x', '/apis/a.io'),
});

/** Applies the change to both. */
function apply(each: Change, naive: NaiveRbac, index: RoleIndex): void {
  const [clusterRoles, roles, bindings] = [...index.followers.values()];
  const { name } = each;
  const namespace = 'namespace' in each ? each.namespace : '';
  const key = { namespace, name };
  const follower = { clusterRole: clusterRoles!, role: roles!, binding: bindings! }[each.type];
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  if (each.isGone) {
    follower.remove(key);
    ({ clusterRole: naive.clusterRoles, role: naive.roles, binding: naive.bindings })[each.type].delete(
      each.type === 'clusterRole' ? name : `${namespace}/${name}`,
    );
  } else if (each.type === 'binding') {
    const kind = namespace === '' ? 'ClusterRole' : each.kind;
    const binding = {
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name: each.role } as const,
      subjects: each.subjects,
    };
    naive.bindings.set(`${namespace}/${name}`, { ...binding, namespace });
    follower.put({ ...key, body: JSON.stringify(binding) });
  } else {
    const role: ClusterRole = {
      apiVersion,
      kind: 'Role',
      metadata: { name, ...('labels' in each ? { labels: each.labels } : {}) },
      rules: each.rules,
      ...('selectors' in each ? { aggregationRule: { clusterRoleSelectors: each.selectors } } : {}),
    };
    if (each.type === 'role') naive.roles.set(`${namespace}/${name}`, role);
    else naive.clusterRoles.set(name, role);
    follower.put({ ...key, body: JSON.stringify(role) });
  }
}

const round = fc.record({
  changes: fc.array(change, { minLength: 4, maxLength: 16 }),
  questions: fc.array(question, { minLength: 30, maxLength: 40 }),
});
const rounds = fc.array(round, { minLength: 4, maxLength: 8 });

test('decides as the Kubernetes documentation says, whatever roles and bindings are added and removed', async () => {
  let decisions = 0;
  let allowedCount = 0;
  const property = fc.asyncProperty(rounds, async (history) => {
    const naive = new NaiveRbac();
    const index = new RoleIndex();
    const authorizer = new RbacAuthorizer(index);
    for (const { changes, questions } of history) {
      for (const each of changes) apply(each, naive, index);
      for (const asked of questions) {
        const { allowed } = await authorizer.authorize(asked);
        if (allowed !== naive.allows(asked)) throw new Error(`${JSON.stringify(asked)} is ${allowed}`);
        decisions += 1;
        if (allowed) allowedCount += 1;
      }
    }
  });
  await fc.assert(property, { numRuns: 60 });
  expect(decisions).toBeGreaterThan(1_500);
  // Both answers are frequent.
  expect(Math.min(allowedCount, decisions - allowedCount) / decisions).toBeGreaterThan(0.05);
});

test('the reported rules of a user allow exactly what the user may do', () => {
  const property = fc.property(rounds, (history) => {
    const index = new RoleIndex();
    for (const { changes, questions } of history) {
      for (const each of changes) apply(each, new NaiveRbac(), index);
      for (const asked of questions) {
        const told = index.rulesOf(asked.user, asked.namespace).rules.some((rule) => ruleAllows(rule, asked));
        if (told !== index.allows(asked)) throw new Error(`${JSON.stringify(asked)} is told to be ${told}`);
      }
    }
  });
  fc.assert(property, { numRuns: 50 });
});

test('a user who holds rules may do all that they allow', () => {
  let held = 0;
  const property = fc.property(rounds, rules, (history, written) => {
    const index = new RoleIndex();
    for (const { changes, questions } of history) {
      for (const each of changes) apply(each, new NaiveRbac(), index);
      for (const asked of questions) {
        const missing = index.missingRules(asked.user, written, asked.namespace);
        if (missing.length === 0 && written.some((rule) => ruleAllows(rule, asked))) {
          held += 1;
          if (!index.allows(asked)) throw new Error(`${JSON.stringify(asked)} is not allowed`);
        }
        // A missing rule must not be held.
        if (index.missingRules(asked.user, missing, asked.namespace).length !== missing.length)
          throw new Error(`${JSON.stringify(missing)} are held`);
      }
    }
  });
  fc.assert(property, { numRuns: 100 });
  expect(held).toBeGreaterThan(50);
});
