import { describe, expect, test } from '@jest/globals';
import type { CustomResourceDefinition, DefinitionVersion } from './definition.ts';
import { modelFromDefinition } from './model-from-definition.ts';

const schema: Required<DefinitionVersion>['schema'] = {
  openAPIV3Schema: {
    type: 'object',
    properties: { spec: { type: 'object', properties: { slug: { type: 'string' }, rank: { type: 'integer' } } } },
  },
};

function define(...versions: Partial<DefinitionVersion>[]): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'posts.example.com' },
    spec: {
      group: 'example.com',
      names: { plural: 'posts', kind: 'Post' },
      scope: 'Namespaced',
      versions: versions.map((version, index) => ({
        name: `v1beta${index + 1}`,
        served: true,
        storage: index === 0,
        schema,
        ...version,
      })),
    },
  };
}

test('a minimal definition gives a complete model', () => {
  expect(modelFromDefinition(define({ name: 'v1' }))).toEqual({
    group: 'example.com',
    names: { plural: 'posts', singular: 'post', kind: 'Post', listKind: 'PostList', shortNames: [], categories: [] },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        deprecated: false,
        schema: schema.openAPIV3Schema,
        subresources: { status: false },
        printerColumns: [],
        selectableFields: [],
      },
    ],
    storageVersion: 'v1',
    indexes: [],
    nameRule: 'model',
  });
});

test('versions are in order of preference', () => {
  const model = modelFromDefinition(define({ name: 'v1alpha1' }, { name: 'v1' }, { name: 'v2beta1' }, { name: 'v2' }));
  expect(model.versions.map(({ name }) => name)).toEqual(['v2', 'v1', 'v2beta1', 'v1alpha1']);
  expect(model.storageVersion).toBe('v1alpha1');
});

describe('a definition that is being deleted', () => {
  const served = (definition: CustomResourceDefinition): string[] =>
    modelFromDefinition(definition)
      .versions.filter((version) => version.served)
      .map(({ name }) => name);
  const deleted = (definition: CustomResourceDefinition): CustomResourceDefinition => ({
    ...definition,
    metadata: { ...definition.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  const unserved = define({ served: false, storage: false }, { served: false, storage: true });

  test('serves its storage version if it served none', () => {
    expect([served(unserved), served(deleted(unserved))]).toEqual([[], ['v1beta2']]);
  });

  test('serves the same versions if it served any', () => {
    expect(served(deleted(define({ served: true, storage: false }, { served: false, storage: true })))).toEqual([
      'v1beta1',
    ]);
  });
});

test('indexes of all versions are merged, and a declared index replaces that of a selectable field', () => {
  const selectableFields = [{ jsonPath: '.spec.slug' }, { jsonPath: '.spec.rank' }];
  const model = modelFromDefinition(
    define(
      { selectableFields },
      { selectableFields, indexes: [{ name: 'spec.slug', path: '.spec.slug', type: 'string', unique: true }] },
      { indexes: [{ name: 'tags', path: 'spec.tags[*]', type: 'string', nullable: false }] },
    ),
  );
  expect(model.indexes.toSorted((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
    { name: 'spec.rank', path: 'spec.rank', type: 'integer', multi: false, unique: false, nullable: true },
    { name: 'spec.slug', path: 'spec.slug', type: 'string', multi: false, unique: true, nullable: true },
    { name: 'tags', path: 'spec.tags[*]', type: 'string', multi: true, unique: false, nullable: false },
  ]);
});

test('a declared subresource exists, even an empty one', () => {
  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' };
  expect(modelFromDefinition(define({ subresources: { status: {}, scale } })).versions[0]?.subresources).toEqual({
    status: true,
    scale,
  });
});
