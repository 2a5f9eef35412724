import { expect, test } from '@jest/globals';
import { namespaceModel } from '../core/namespace-model.ts';
import type { CustomResourceDefinition, DefinitionNames } from './definition.ts';
import { acceptNames, claimOfDefinition, claimOfModel, type NameClaim } from './names.ts';

const names: DefinitionNames = {
  plural: 'posts',
  singular: 'post',
  kind: 'Post',
  listKind: 'PostList',
  shortNames: ['po'],
  categories: ['all'],
};

function define(part: Partial<DefinitionNames> = {}, held?: Partial<DefinitionNames>): CustomResourceDefinition {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'posts.example.com' },
    spec: { group: 'example.com', names: { ...names, ...part }, scope: 'Cluster', versions: [] },
    ...(held === undefined ? {} : { status: { acceptedNames: held } }),
  };
}

const other = (part: Partial<DefinitionNames>, owner = 'others.example.com'): NameClaim => ({ owner, names: part });

test('all names are accepted if there are no other definitions', () => {
  expect(acceptNames(define(), [])).toEqual({ accepted: names, conflicts: [] });
});

test.each<{ reason: string; others: NameClaim[]; conflicts: [string, string, string][] }>([
  {
    reason: 'a short name may not equal a plural',
    others: [other({ shortNames: ['posts'] })],
    conflicts: [['plural', 'posts', 'others.example.com']],
  },
  {
    reason: 'a plural may not equal a singular',
    others: [other({ plural: 'post' })],
    conflicts: [['singular', 'post', 'others.example.com']],
  },
  {
    reason: 'short names must differ',
    others: [other({ shortNames: ['x', 'po'] })],
    conflicts: [['shortNames', 'po', 'others.example.com']],
  },
  { reason: 'kinds differ', others: [other({ kind: 'Post' })], conflicts: [['kind', 'Post', 'others.example.com']] },
  {
    reason: 'a kind may not equal a list kind',
    others: [other({ kind: 'PostList' })],
    conflicts: [['listKind', 'PostList', 'others.example.com']],
  },
  {
    reason: 'the first owner is named',
    others: [other({ kind: 'Post' }, 'a'), other({ kind: 'Post' }, 'b')],
    conflicts: [['kind', 'Post', 'a']],
  },
  {
    reason: 'kinds and resources have separate names',
    others: [other({ kind: 'posts', plural: 'Post' })],
    conflicts: [],
  },
  { reason: 'an unaccepted name is free', others: [other({ plural: '', kind: '' })], conflicts: [] },
])('$reason', ({ others, conflicts }) => {
  const result = acceptNames(define(), others);
  expect(result.conflicts.map(({ field, value, owner }) => [field, value, owner])).toEqual(conflicts);
  for (const [field] of conflicts) expect(result.accepted).not.toHaveProperty(field);
});

test('an accepted name stays accepted, whichever definition asks for it', () => {
  const { accepted, conflicts } = acceptNames(define({}, names), [
    other({ plural: 'posts', kind: 'Post', shortNames: ['po'] }),
  ]);
  expect(conflicts).toEqual([]);
  expect(accepted).toEqual(names);
});

test('a definition keeps its old name if the new one conflicts', () => {
  const { accepted, conflicts } = acceptNames(define({ singular: 'entry', shortNames: ['po', 'en'] }, names), [
    other({ singular: 'entry', shortNames: ['en'] }),
  ]);
  expect(conflicts.map(({ field }) => field)).toEqual(['singular', 'shortNames']);
  expect(accepted).toEqual(names);
});

test('removed short names and categories are free again', () => {
  const definition = define({}, names);
  delete definition.spec.names.shortNames;
  delete definition.spec.names.categories;
  expect(acceptNames(definition, []).accepted).toEqual({
    plural: 'posts',
    singular: 'post',
    kind: 'Post',
    listKind: 'PostList',
  });
});

test('names in use', () => {
  expect(claimOfModel(namespaceModel)).toMatchObject({
    owner: 'namespaces',
    names: { plural: 'namespaces', shortNames: ['ns'] },
  });
  expect(claimOfDefinition(define())).toEqual({ owner: 'posts.example.com', names: {} });
  expect(claimOfDefinition(define({}, { plural: 'posts' }))).toEqual({
    owner: 'posts.example.com',
    names: { plural: 'posts' },
  });
});
