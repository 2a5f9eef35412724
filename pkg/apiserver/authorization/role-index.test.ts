import { describe, expect, test } from '@jest/globals';
import type { PolicyRule, RoleRef, Subject } from '#pkg/apis/index';
import type { UserInfo } from '#pkg/identity/index';
import { RbacAuthorizer } from './rbac-authorizer.ts';
import { RoleIndex } from './role-index.ts';

const ada: UserInfo = { name: 'ada', uid: '', groups: ['system:authenticated'] };
const master: UserInfo = { name: 'root', uid: '', groups: ['system:masters'] };
const narrowed = (user: UserInfo, ...roles: string[]): UserInfo => ({ ...user, restriction: { roles } });
const posts = (...verbs: string[]): PolicyRule => ({ verbs, apiGroups: ['blog'], resources: ['posts'] });

/** An index with ClusterRoles and bindings to users or groups. */
function indexOf(
  roles: Record<string, PolicyRule[]>,
  bindings: [namespace: string, role: string, ...subjects: Subject[]][] = [],
): RoleIndex {
  const index = new RoleIndex();
  const [clusterRoles, , clusterRoleBindings] = [...index.followers.values()];
  for (const [name, rules] of Object.entries(roles))
    clusterRoles!.put({ namespace: '', name, body: JSON.stringify({ metadata: { name }, rules }) });
  for (const [i, [namespace, role, ...subjects]] of bindings.entries()) {
    const roleRef: RoleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
    clusterRoleBindings!.put({ namespace, name: `b${i}`, body: JSON.stringify({ roleRef, subjects }) });
  }
  return index;
}

describe('holds', () => {
  const index = indexOf({ reader: [posts('get', 'list')], namer: [{ ...posts('delete'), resourceNames: ['x'] }] }, [
    ['', 'reader', { kind: 'User', name: 'ada' }],
    ['one', 'namer', { kind: 'User', name: 'ada' }],
  ]);

  test.each<[string, UserInfo, PolicyRule[], string, PolicyRule[]]>([
    ['all rules', ada, [posts('get')], '', []],
    ['a part of the rules', ada, [posts('get', 'watch', 'create')], '', [posts('watch', 'create')]],
    ['only for some names', ada, [posts('delete')], 'one', [posts('delete')]],
    [
      'the names',
      ada,
      [{ ...posts('delete'), resourceNames: ['x', 'y'] }],
      'one',
      [{ ...posts('delete'), resourceNames: ['y'] }],
    ],
    [
      'elsewhere',
      ada,
      [{ ...posts('delete'), resourceNames: ['x'] }],
      'two',
      [{ ...posts('delete'), resourceNames: ['x'] }],
    ],
    ['a star', ada, [posts('*')], '', [posts('*')]],
    ['everything', master, [posts('*')], '', []],
    ['everything except what is missing', narrowed(master, 'reader'), [posts('*', 'get')], '', [posts('*')]],
    [
      'paths',
      ada,
      [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
      '',
      [{ verbs: ['get'], nonResourceURLs: ['/metrics'] }],
    ],
    ['nothing', ada, [], '', []],
  ])('%s', (_reason, user, rules, namespace, missing) => {
    expect(index.missingRules(user, rules, namespace)).toEqual(missing);
  });

  test('too many rules count as missing, except for a user who holds everything', () => {
    const names = Array.from({ length: 400 }, (_, i) => `n${i}`);
    const huge: PolicyRule = { verbs: ['get'], apiGroups: names, resources: names };
    expect(index.missingRules(ada, [posts('get'), huge])).toEqual([huge]);
    expect(index.missingRules(master, [huge])).toEqual([]);
  });
});

describe('hasRole', () => {
  const index = indexOf(
    { reader: [posts('get')], writer: [posts('get', 'create')], other: [posts('delete')], empty: [] },
    [
      ['', 'reader', { kind: 'Group', name: 'readers' }],
      ['one', 'writer', { kind: 'ServiceAccount', namespace: 'one', name: 'robot' }],
    ],
  );
  const robot: UserInfo = { name: 'system:serviceaccount:one:robot', uid: '', groups: [] };

  test.each<[string, UserInfo, string, boolean]>([
    ['by a group', { ...ada, groups: ['readers'] }, 'reader', true],
    ['another one', { ...ada, groups: ['readers'] }, 'writer', false],
    ['none', ada, 'reader', false],
    ['in a namespace', robot, 'writer', true],
    ['a permission of a role in a namespace', robot, 'reader', true],
    ['a permission that it does not have', robot, 'other', false],
    ['as system:masters', master, 'other', true],
    ['as system:masters, a role that does not exist', master, 'absent', false],
    ['as restricted system:masters', narrowed(master, 'reader'), 'reader', true],
    ['as restricted system:masters, more than its roles', narrowed(master, 'reader'), 'writer', false],
    ['bound, but restricted to less', narrowed({ ...ada, groups: ['readers'] }, 'other'), 'reader', false],
    ['without rules', ada, 'empty', true],
    ['the name of an inherited property', ada, 'constructor', false],
  ])('%s', (_reason, user, role, has) => {
    expect(index.hasRole(user, role)).toBe(has);
    expect(index.rolesOf(user).includes(role)).toBe(has);
  });
});

describe('isNamedByBinding', () => {
  const [one, two] = [
    { kind: 'User', name: 'Mia' },
    { kind: 'User', name: 'mia' },
  ] as const;
  const index = indexOf({ reader: [] }, [
    ['', 'reader', one, { kind: 'Group', name: 'readers' }],
    ['one', 'reader', two],
    ['two', 'reader', { kind: 'User', name: 'Straße' }],
  ]);
  const [, , bindings] = [...index.followers.values()];

  test.each<[string, boolean]>([
    ['mia', true],
    ['MIA', true],
    ['ｍｉａ', true],
    ['STRASSE', true],
    ['readers', false],
    ['constructor', false],
    ['mi', false],
  ])('%s: %s', (name, isOne) => {
    expect(index.isNamedByBinding(name)).toBe(isOne);
  });

  test('until the last binding is deleted', () => {
    bindings!.remove({ namespace: '', name: 'b0' });
    expect(index.isNamedByBinding('mia')).toBe(true);
    bindings!.remove({ namespace: 'one', name: 'b1' });
    expect(index.isNamedByBinding('mia')).toBe(false);
  });
});

describe('a role that aggregates', () => {
  const question = {
    user: ada,
    verb: 'get',
    group: 'blog',
    version: 'v1',
    resource: 'posts',
    subresource: '',
    namespace: '',
    name: '',
    isResourceRequest: true,
    path: '',
  };

  test('has the rules that it selects, not its own rules, also in a cycle', () => {
    const index = indexOf({}, [['', 'a', { kind: 'User', name: 'ada' }]]);
    const [clusterRoles] = [...index.followers.values()];
    const put = (name: string, labels: Record<string, string>, content: object): void =>
      clusterRoles!.put({ namespace: '', name, body: JSON.stringify({ metadata: { name, labels }, ...content }) });
    const selecting = (key: string): object => ({
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [key]: 'true' } }] },
    });
    put('a', { b: 'true' }, { ...selecting('a'), rules: [posts('get')] });
    expect(index.allows(question)).toBe(false);
    put('b', { a: 'true' }, selecting('b'));
    put('leaf', { b: 'true' }, { rules: [posts('get')] });
    expect(index.allows(question)).toBe(true);
    put('leaf', {}, { rules: [posts('get')] });
    expect(index.allows(question)).toBe(false);
    put('leaf', { a: 'true' }, { rules: [posts('get')] });
    clusterRoles!.remove({ namespace: '', name: 'b' });
    expect(index.allows(question)).toBe(true);
    put('a', {}, { rules: [posts('list')] });
    expect(index.allows(question)).toBe(false);
  });
});

describe('an index that may be too old', () => {
  const question = {
    verb: 'get',
    group: '',
    version: 'v1',
    resource: 'events',
    subresource: '',
    namespace: '',
    name: '',
    isResourceRequest: true,
    path: '',
  };

  test.each<[string, UserInfo, number, number | boolean]>([
    ['new enough', ada, 4000, false],
    ['too old', ada, 6000, 503],
    ['too old for restricted system:masters', narrowed(master, 'reader'), 6000, 503],
    ['never for system:masters', master, 1e9, true],
  ])('%s', async (_reason, user, age, expected) => {
    const authorizer = new RbacAuthorizer(new RoleIndex({ currentAt: () => performance.now() - age }));
    const outcome = await authorizer.authorize({ ...question, user }).then(
      ({ allowed }) => allowed,
      ({ code }: { code: number }) => code,
    );
    expect(outcome).toBe(expected);
  });
});
