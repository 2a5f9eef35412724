import { expect, test } from '@jest/globals';
import type { CustomResourceDefinition, DefinitionStatus } from './definition.ts';
import { definitionStatus } from './definition-status.ts';
import { modelFromDefinition } from './model-from-definition.ts';
import type { NameClaim } from './names.ts';

const first = '2026-01-01T00:00:00Z';
const later = '2026-01-02T00:00:00Z';
const names = { plural: 'posts', singular: 'post', kind: 'Post', listKind: 'PostList' };
const conflicting: NameClaim = { owner: 'others.example.com', names: { kind: 'Post', shortNames: ['po'] } };

function define(status?: DefinitionStatus, shortNames: string[] = []): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'posts.example.com' },
    spec: {
      group: 'example.com',
      names: { ...names, shortNames },
      scope: 'Cluster',
      versions: [{ name: 'v1', served: true, storage: true }],
    },
    ...(status === undefined ? {} : { status }),
  };
}

const accepted = {
  type: 'NamesAccepted',
  status: 'True',
  reason: 'NoConflicts',
  message: 'no conflicts found',
  lastTransitionTime: first,
};
const established = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
  lastTransitionTime: first,
};

test('a definition without name conflicts is established at once', () => {
  expect(definitionStatus(define(), [], first)).toEqual({
    conditions: [accepted, established],
    acceptedNames: { ...names, shortNames: [] },
    storedVersions: ['v1'],
  });
});

test('a name conflict names the first owner, and the definition is not served until the first is deleted', () => {
  const clashed = definitionStatus(define(), [conflicting], first);
  expect(clashed.conditions).toEqual([
    {
      type: 'NamesAccepted',
      status: 'False',
      reason: 'KindConflict',
      message: '"Post" is already in use by others.example.com',
      lastTransitionTime: first,
    },
    {
      type: 'Established',
      status: 'False',
      reason: 'NotAccepted',
      message: 'not all names are accepted',
      lastTransitionTime: first,
    },
  ]);
  expect(clashed.acceptedNames).not.toHaveProperty('kind');
  const resolved = definitionStatus(define(clashed), [], later);
  expect(resolved.conditions).toEqual([
    { ...accepted, lastTransitionTime: later },
    { ...established, lastTransitionTime: later },
  ]);
});

test('an established definition stays established under its names', () => {
  const before = definitionStatus(define(), [], first);
  const changed = define(before, ['po']);
  const status = definitionStatus(changed, [conflicting], later);
  expect(
    status.conditions.map((condition) => [
      condition.type,
      condition.status,
      condition.reason,
      condition.lastTransitionTime,
    ]),
  ).toEqual([
    ['NamesAccepted', 'False', 'ShortNamesConflict', later],
    ['Established', 'True', 'InitialNamesAccepted', first],
  ]);
  expect(modelFromDefinition({ ...changed, status }).names.shortNames).toEqual([]);
});

test('a correct status is returned unchanged', () => {
  const status = definitionStatus(define(), [], first);
  expect(definitionStatus(define(status), [], later)).toEqual(status);
});

test('other conditions and earlier storage versions are kept', () => {
  const terminating = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: '',
    lastTransitionTime: first,
  } as const;
  const status = definitionStatus(define({ conditions: [terminating], storedVersions: ['v1alpha1'] }), [], later);
  expect(status.conditions[0]).toEqual(terminating);
  expect(status.storedVersions).toEqual(['v1alpha1', 'v1']);
});
