import { describe, expect, test } from '@jest/globals';
import { holdsAll, isAllowed, type Attributes, type RoleBook, type Rule } from './rbac.ts';

const mia = { username: 'mia', groups: ['readers', 'system:authenticated'] };
const get = { verb: 'get', group: 'x.io', resource: 'things' };

function bound(rule: Rule, namespace?: string): RoleBook {
  return {
    clusterRoles: [{ name: 'r', rules: [rule] }],
    roles: [],
    bindings: [
      {
        name: 'b',
        role: { kind: 'ClusterRole', name: 'r' },
        subjects: [{ kind: 'Group', name: 'readers' }],
        ...(namespace === undefined ? {} : { namespace }),
      },
    ],
  };
}

describe('a rule allows', () => {
  const rule = { verbs: ['get'], apiGroups: ['x.io'], resources: ['things'] };
  const cases: { reason: string; rule: Rule; asks: Attributes; is: boolean }[] = [
    { reason: 'its verbs, groups and resources', rule, asks: get, is: true },
    { reason: 'no other verb', rule, asks: { ...get, verb: 'list' }, is: false },
    { reason: 'no other group', rule, asks: { ...get, group: '' }, is: false },
    { reason: 'no subresource', rule, asks: { ...get, subresource: 'status' }, is: false },
    { reason: 'a subresource alone', rule: { ...rule, resources: ['things/status'] }, asks: get, is: false },
    {
      reason: 'a subresource of all',
      rule: { ...rule, resources: ['*/status'] },
      asks: { ...get, subresource: 'status' },
      is: true,
    },
    {
      reason: 'no resource for a subresource of all',
      rule: { ...rule, resources: ['*/status'] },
      asks: get,
      is: false,
    },
    {
      reason: 'subresources by the star',
      rule: { ...rule, resources: ['*'] },
      asks: { ...get, subresource: 'status' },
      is: true,
    },
    {
      reason: 'nothing by a star behind a slash',
      rule: { ...rule, resources: ['things/*'] },
      asks: { ...get, subresource: 'status' },
      is: false,
    },
    { reason: 'a name', rule: { ...rule, resourceNames: ['a'] }, asks: { ...get, name: 'a' }, is: true },
    { reason: 'no other name', rule: { ...rule, resourceNames: ['a'] }, asks: { ...get, name: 'b' }, is: false },
    {
      reason: 'nothing without a name, where it has names',
      rule: { ...rule, resourceNames: ['a'] },
      asks: get,
      is: false,
    },
    {
      reason: 'a path',
      rule: { verbs: ['get'], nonResourceURLs: ['/metrics'] },
      asks: { verb: 'get', path: '/metrics' },
      is: true,
    },
    {
      reason: 'paths below',
      rule: { verbs: ['get'], nonResourceURLs: ['/m*'] },
      asks: { verb: 'get', path: '/metrics' },
      is: true,
    },
    {
      reason: 'no path by stars for resources',
      rule: { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      asks: { verb: 'get', path: '/metrics' },
      is: false,
    },
  ];
  test.each(cases)('$reason: $is', ({ rule: own, asks, is }) => {
    expect(isAllowed(bound(own), mia, asks)).toBe(is);
  });
});

describe('a binding reaches', () => {
  const book = bound({ verbs: ['get'], apiGroups: ['x.io'], resources: ['things'] }, 'press');
  test.each([
    ['its namespace', 'press', true],
    ['no other', 'default', false],
    ['no cluster-wide request', undefined, false],
  ])('%s', (_, namespace, is) => {
    expect(isAllowed(book, mia, { ...get, ...(namespace === undefined ? {} : { namespace }) })).toBe(is);
    expect(
      isAllowed(
        book,
        { username: 'readers', groups: [] },
        { ...get, ...(namespace === undefined ? {} : { namespace }) },
      ),
    ).toBe(false);
  });
});

test('an aggregated role has the rules of those it selects, also indirectly, and a cycle ends', () => {
  const labels = { part: 'a' };
  const book: RoleBook = {
    clusterRoles: [
      {
        name: 'r',
        rules: [{ verbs: ['delete'], apiGroups: ['x.io'], resources: ['things'] }],
        aggregates: [{ part: 'b' }],
      },
      { name: 'middle', labels: { part: 'b' }, rules: [], aggregates: [labels, { part: 'b' }] },
      { name: 'source', labels, rules: [{ verbs: ['get'], apiGroups: ['x.io'], resources: ['things'] }] },
    ],
    roles: [],
    bindings: bound({ verbs: [] }).bindings,
  };
  expect(isAllowed(book, mia, get)).toBe(true);
  expect(isAllowed(book, mia, { ...get, verb: 'delete' })).toBe(false);
});

test('a requester with a restricted token may do what both the user and the role may, also as an administrator', () => {
  const book = bound({ verbs: ['get', 'list'], apiGroups: ['x.io'], resources: ['things'] });
  const narrow: RoleBook = {
    ...book,
    clusterRoles: [
      ...book.clusterRoles,
      { name: 'narrow', rules: [{ verbs: ['get', 'delete'], apiGroups: ['x.io'], resources: ['things'] }] },
    ],
  };
  const restricted = { ...mia, restriction: ['narrow'] };
  expect(['get', 'list', 'delete'].filter((verb) => isAllowed(narrow, restricted, { ...get, verb }))).toEqual(['get']);
  const master = { username: 'root', groups: ['system:masters'], restriction: ['narrow'] };
  expect(['get', 'list', 'delete'].filter((verb) => isAllowed(narrow, master, { ...get, verb }))).toEqual([
    'get',
    'delete',
  ]);
});

test('a union of rules covers a rule, and only a star covers a star', () => {
  const book = bound({ verbs: ['get', 'list'], apiGroups: ['x.io'], resources: ['things', '*/status'] });
  const held = (rule: Rule): boolean => holdsAll(book, mia, [rule]);
  expect(
    held({ verbs: ['list', 'get'], apiGroups: ['x.io'], resources: ['things', 'others/status'], resourceNames: ['a'] }),
  ).toBe(true);
  expect(held({ verbs: ['get'], apiGroups: ['x.io'], resources: ['others'] })).toBe(false);
  expect(held({ verbs: ['*'], apiGroups: ['x.io'], resources: ['things'] })).toBe(false);
  expect(held({ verbs: ['get'], nonResourceURLs: ['/metrics'] })).toBe(false);
});
