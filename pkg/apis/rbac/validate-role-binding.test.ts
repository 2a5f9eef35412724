import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '#pkg/apimachinery/index';
import { defaultRoleBinding, validateRoleBinding } from './validate-role-binding.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const roleRef = { apiGroup, kind: 'ClusterRole', name: 'view' };
const told = (
  binding: JsonObject,
  { namespaced = false, old }: { namespaced?: boolean; old?: JsonObject } = {},
): string[] => validateRoleBinding(binding, { namespaced, old }).map(({ field, message }) => `${field}: ${message}`);
const withSubject = (subject: JsonObject): JsonObject => ({ roleRef, subjects: [subject] });

describe('a binding is refused for', () => {
  test.each<[string, JsonObject, string[]]>([
    ['nothing', { roleRef }, []],
    [
      'another group',
      { roleRef: { ...roleRef, apiGroup: 'x' } },
      ['roleRef.apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"'],
    ],
    [
      'a role of a namespace',
      { roleRef: { ...roleRef, kind: 'Role' } },
      ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
    ],
    ['no role', { roleRef: { ...roleRef, name: '' } }, ['roleRef.name: Required value']],
    [
      'an invalid name',
      { roleRef: { ...roleRef, name: 'a/b' } },
      ['roleRef.name: Invalid value: "a/b": may not contain "/"'],
    ],
    ['nothing: a user', withSubject({ kind: 'User', apiGroup, name: 'ada' }), []],
    ['a user without a name', withSubject({ kind: 'User', apiGroup, name: '' }), ['subjects[0].name: Required value']],
    [
      'a group of another kind',
      withSubject({ kind: 'Group', apiGroup: '', name: 'g' }),
      ['subjects[0].apiGroup: Unsupported value: "": supported values: "rbac.authorization.k8s.io"'],
    ],
    [
      'an unknown kind',
      withSubject({ kind: 'Robot', name: 'g' }),
      ['subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"'],
    ],
    [
      'a service account without a namespace',
      withSubject({ kind: 'ServiceAccount', name: 'a' }),
      ['subjects[0].namespace: Required value'],
    ],
    [
      'a service account with an API group',
      withSubject({ kind: 'ServiceAccount', apiGroup, namespace: 'n', name: 'a' }),
      ['subjects[0].apiGroup: Unsupported value: "rbac.authorization.k8s.io": supported values: ""'],
    ],
  ])('%s', (_reason, binding, causes) => {
    expect(told(binding)).toEqual(causes);
  });

  test('nothing, if its role and service account are in its namespace', () => {
    expect(
      told(
        { roleRef: { ...roleRef, kind: 'Role' }, subjects: [{ kind: 'ServiceAccount', name: 'a' }] },
        { namespaced: true },
      ),
    ).toEqual([]);
  });

  test('a changed role reference', () => {
    expect(told({ roleRef }, { old: { roleRef } })).toEqual([]);
    expect(told({ roleRef }, { old: { roleRef: { ...roleRef, name: 'edit' } } })).toEqual([
      expect.stringMatching(/^roleRef: Invalid value: .*: cannot change roleRef$/),
    ]);
  });
});

test.each<[string, JsonObject, JsonObject]>([
  [
    'missing fields',
    {
      roleRef: { kind: 'Role', name: 'a' },
      subjects: [
        { kind: 'User', name: 'u' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    },
    {
      roleRef: { apiGroup, kind: 'Role', name: 'a' },
      subjects: [
        { kind: 'User', apiGroup, name: 'u' },
        { kind: 'ServiceAccount', name: 's' },
      ],
    },
  ],
  [
    'no given field',
    withSubject({ kind: 'User', apiGroup: 'x', name: 'u' }),
    withSubject({ kind: 'User', apiGroup: 'x', name: 'u' }),
  ],
  [
    'no field of another type',
    { roleRef: [1], subjects: [null, 'a', { kind: 1 }] },
    { roleRef: [1], subjects: [null, 'a', { kind: 1 }] },
  ],
])('defaults fill in %s', (_reason, binding, expected) => {
  const copy = structuredClone(binding);
  defaultRoleBinding(copy);
  expect(copy).toEqual(expected);
});
