import { expect, test } from '@jest/globals';
import type { PolicyRule } from '#pkg/apis/index';
import { intersectRules } from './intersect-rules.ts';

const posts = (more: Partial<PolicyRule> = {}): PolicyRule => ({
  verbs: ['get'],
  apiGroups: ['blog'],
  resources: ['posts'],
  ...more,
});
const paths = (verbs: string[], ...nonResourceURLs: string[]): PolicyRule => ({ verbs, nonResourceURLs });

test.each<[string, PolicyRule, PolicyRule, PolicyRule | undefined]>([
  ['verbs of both', posts({ verbs: ['get', 'list'] }), posts({ verbs: ['list', 'watch'] }), posts({ verbs: ['list'] })],
  ['any verb, and one verb', posts({ verbs: ['*'] }), posts(), posts()],
  ['no common verb', posts(), posts({ verbs: ['list'] }), undefined],
  ['any group, and one group', posts({ apiGroups: ['*'] }), posts(), posts()],
  ['other groups', posts({ apiGroups: ['shop'] }), posts(), undefined],
  ['any resource, and one resource', posts({ resources: ['*'] }), posts(), posts()],
  [
    'a subresource of all resources, and that of one',
    posts({ resources: ['*/scale'] }),
    posts({ resources: ['posts/scale'] }),
    posts({ resources: ['posts/scale'] }),
  ],
  [
    'a subresource of all resources, and another of one',
    posts({ resources: ['*/scale'] }),
    posts({ resources: ['posts/status'] }),
    undefined,
  ],
  ['a resource and its subresource', posts(), posts({ resources: ['posts/status'] }), undefined],
  ['names, and any name', posts({ resourceNames: ['a', 'b'] }), posts(), posts({ resourceNames: ['a', 'b'] })],
  [
    'common names',
    posts({ resourceNames: ['a', 'b'] }),
    posts({ resourceNames: ['b', 'c'] }),
    posts({ resourceNames: ['b'] }),
  ],
  ['other names', posts({ resourceNames: ['a'] }), posts({ resourceNames: ['c'] }), undefined],
  ['paths below other paths', paths(['get', 'post'], '/a/*'), paths(['get'], '/a/b', '/c'), paths(['get'], '/a/b')],
  ['paths, and resources', paths(['get'], '*'), posts({ resources: ['*'] }), undefined],
])('%s: what both allow', (_case, one, other, common) => {
  const rules = common === undefined ? [] : [common];
  expect(intersectRules(new Set([one]), new Set([other]))).toEqual({ rules, isComplete: true });
  expect(intersectRules(new Set([other]), new Set([one]))).toEqual({ rules, isComplete: true });
});

test('a rule of both sides is kept unchanged, next to intersections of others', () => {
  const shared = posts({ verbs: ['*'] });
  expect(
    intersectRules(
      new Set([shared, posts({ apiGroups: ['shop'] })]),
      new Set([posts({ apiGroups: ['*'], verbs: ['get'] }), shared]),
    ),
  ).toEqual({
    rules: [shared, posts({ apiGroups: ['shop'] })],
    isComplete: true,
  });
});

test('reports too many rules to compare every pair', () => {
  const many = (group: string): Set<PolicyRule> =>
    new Set(Array.from({ length: 400 }, (_, i) => posts({ apiGroups: [group], resourceNames: [`${i}`] })));
  expect(intersectRules(many('a'), many('b'))).toEqual({ rules: [], isComplete: false });
});
