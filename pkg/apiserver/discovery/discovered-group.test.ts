import { describe, expect, test } from '@jest/globals';
import type { Model, ModelVersion } from '#pkg/apimachinery/index';
import { registered, testModel } from '../openapi/document-test-server.ts';
import type { RegisteredModel } from '../rest/served-resource.ts';
import { discoverGroups, storageVersionHash, subresourcesOf, verbsOf } from './discovered-group.ts';

function versions(...names: string[]): ModelVersion[] {
  return names.map((name) => ({ ...testModel().versions[0]!, name, served: !name.startsWith('un') }));
}

function named(plural: string, facts: Partial<Model> = {}): Model {
  return testModel({ ...facts, names: { ...testModel().names, plural, kind: plural } });
}

const cases: { reason: string; models: RegisteredModel[]; groups: string[] }[] = [
  { reason: 'nothing is registered', models: [], groups: [] },
  {
    reason: 'versions: stable before beta before alpha, newer first',
    models: [registered(testModel({ versions: versions('v1alpha1', 'v1', 'v2beta1', 'v10', 'v2') }))],
    groups: ['blog.example.com: v10 posts; v2 posts; v1 posts; v2beta1 posts; v1alpha1 posts'],
  },
  {
    reason: 'a version that is not served is absent',
    models: [registered(testModel({ versions: versions('v1', 'unserved') }))],
    groups: ['blog.example.com: v1 posts'],
  },
  {
    reason: 'a group without a served version is absent',
    models: [registered(testModel({ versions: versions('unserved') }))],
    groups: [],
  },
  {
    reason: 'versions of a group are those of all its models; resources are sorted',
    models: [
      registered(named('tags', { versions: versions('v1') })),
      registered(named('posts', { versions: versions('v1beta1', 'v1') })),
    ],
    groups: ['blog.example.com: v1 posts tags; v1beta1 posts'],
  },
  {
    reason: 'the groups of the server come first, as clients ask the first group for a short name',
    models: [
      registered(testModel({ group: 'a.example.com' })),
      registered(testModel({ group: 'z.example.com' }), { fromDefinition: false }),
      registered(testModel({ group: '' }), { fromDefinition: false }),
    ],
    groups: [': v1 posts', 'z.example.com: v1 posts', 'a.example.com: v1 posts'],
  },
];

test.each(cases)('$reason', ({ models, groups }) => {
  const shown = discoverGroups(models).map(
    ({ name, versions: all }) =>
      `${name}: ${all.map((version) => [version.name, ...version.resources.map(({ model }) => model.names.plural)].join(' ')).join('; ')}`,
  );
  expect(shown).toEqual(groups);
  expect(discoverGroups(models.toReversed())).toEqual(discoverGroups(models));
});

describe('a resource', () => {
  const model = testModel(
    {},
    {
      subresources: {
        status: true,
        scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
      },
    },
  );
  const resource = { model, version: model.versions[0]!, terminating: false };

  test('has the eight verbs', () => {
    expect(verbsOf(resource)).toEqual([
      'create',
      'delete',
      'deletecollection',
      'get',
      'list',
      'patch',
      'update',
      'watch',
    ]);
  });

  test('has no verbs that create or change while it is terminating', () => {
    expect(verbsOf({ ...resource, terminating: true })).toEqual(['delete', 'deletecollection', 'get', 'list', 'watch']);
  });

  test('has a status of its own kind, and a scale of the kind Scale', () => {
    expect(subresourcesOf(resource)).toEqual([
      {
        name: 'status',
        kind: { group: 'blog.example.com', version: 'v1', kind: 'Post' },
        verbs: ['get', 'patch', 'update'],
      },
      {
        name: 'scale',
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        verbs: ['get', 'patch', 'update'],
      },
    ]);
    expect(subresourcesOf({ ...resource, version: testModel().versions[0]! })).toEqual([]);
  });

  test('has a storage version hash that depends on the storage version only', () => {
    expect(storageVersionHash(model)).toMatch(/^[A-Za-z0-9+/]{11}=$/);
    expect(storageVersionHash(testModel({ scope: 'Namespaced' }))).toBe(storageVersionHash(model));
    expect(storageVersionHash(testModel({ storageVersion: 'v2' }))).not.toBe(storageVersionHash(model));
  });
});
