import { expect, test } from '@jest/globals';
import { compactRules, countPermissions, describeRule, permissionsOf } from './permissions.ts';

test('a rule is formatted as in Kubernetes', () => {
  expect(describeRule({ verbs: ['get', 'list'], apiGroups: [''], resources: ['posts'], resourceNames: ['a"b'] })).toBe(
    '{APIGroups:[""], Resources:["posts"], ResourceNames:["a\\"b"], Verbs:["get" "list"]}',
  );
  expect(describeRule({ verbs: ['get'], nonResourceURLs: ['/metrics'] })).toBe(
    '{NonResourceURLs:["/metrics"], Verbs:["get"]}',
  );
});

test('permissions that are split are merged again', () => {
  const rule = { verbs: ['get', 'list'], apiGroups: ['a'], resources: ['x', 'y/status'], resourceNames: ['n', 'm'] };
  const permissions = [...permissionsOf(rule)];
  expect([permissions.length, countPermissions(rule)]).toEqual([8, 8]);
  expect(permissions[4]!.query).toEqual({
    verb: 'get',
    group: 'a',
    resource: 'y/status',
    anyWithSubresource: '*/status',
    name: 'n',
  });
  expect(compactRules(permissions.map((each) => each.rule))).toEqual([
    { verbs: ['get', 'list'], apiGroups: ['a'], resources: ['x'], resourceNames: ['n'] },
    { verbs: ['get', 'list'], apiGroups: ['a'], resources: ['x'], resourceNames: ['m'] },
    { verbs: ['get', 'list'], apiGroups: ['a'], resources: ['y/status'], resourceNames: ['n'] },
    { verbs: ['get', 'list'], apiGroups: ['a'], resources: ['y/status'], resourceNames: ['m'] },
  ]);
});
