import { expect, test } from '@jest/globals';
import type { ApiObject } from '#pkg/apimachinery/index';
import { defaultDefinition } from './default-definition.ts';

function withSpec(spec: unknown): ApiObject<unknown, unknown> {
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'x' }, spec };
}

test.each<{ reason: string; spec: unknown; expected: unknown }>([
  {
    reason: 'names and conversion are filled in',
    spec: { names: { plural: 'posts', kind: 'BlogPost' } },
    expected: {
      names: { plural: 'posts', kind: 'BlogPost', singular: 'blogpost', listKind: 'BlogPostList' },
      conversion: { strategy: 'None' },
    },
  },
  {
    reason: 'given fields stay',
    spec: { names: { kind: 'Post', singular: 'p', listKind: 'Posts' }, conversion: { strategy: 'Webhook' } },
    expected: { names: { kind: 'Post', singular: 'p', listKind: 'Posts' }, conversion: { strategy: 'Webhook' } },
  },
  { reason: 'wrong types stay', spec: { names: 7 }, expected: { names: 7, conversion: { strategy: 'None' } } },
  {
    reason: 'a kind of a wrong type stays too',
    spec: { names: { kind: {} } },
    expected: { names: { kind: {} }, conversion: { strategy: 'None' } },
  },
  { reason: 'no spec', spec: [], expected: [] },
])('$reason', ({ spec, expected }) => {
  const input = withSpec(spec);
  const before = structuredClone(input);
  expect(defaultDefinition(input).spec).toEqual(expected);
  expect(input).toEqual(before);
});
