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
  ['any verb, and one', posts({ verbs: ['*'] }), posts(), posts()],
  ['no verb of both', posts(), posts({ verbs: ['list'] }), undefined],
  ['any group, and one', posts({ apiGroups: ['*'] }), posts(), posts()],
  ['other groups', posts({ apiGroups: ['shop'] }), posts(), undefined],
  ['any resource, and one', posts({ resources: ['*'] }), posts(), posts()],
  [
    'a subresource of all, and that of one',
    posts({ resources: ['*/scale'] }),
    posts({ resources: ['posts/scale'] }),
    posts({ resources: ['posts/scale'] }),
  ],
  [
    'a subresource of all, and another of one',
    posts({ resources: ['*/scale'] }),
    posts({ resources: ['posts/status'] }),
    undefined,
  ],
  ['a resource and its subresource', posts(), posts({ resources: ['posts/status'] }), undefined],
  ['names, and any', posts({ resourceNames: ['a', 'b'] }), posts(), posts({ resourceNames: ['a', 'b'] })],
  [
    'names of both',
    posts({ resourceNames: ['a', 'b'] }),
    posts({ resourceNames: ['b', 'c'] }),
    posts({ resourceNames: ['b'] }),
  ],
  ['other names', posts({ resourceNames: ['a'] }), posts({ resourceNames: ['c'] }), undefined],
  ['paths below others', paths(['get', 'post'], '/a/*'), paths(['get'], '/a/b', '/c'), paths(['get'], '/a/b')],
  ['paths, and resources', paths(['get'], '*'), posts({ resources: ['*'] }), undefined],
])('%s: what both allow', (_case, one, other, common) => {
  const rules = common === undefined ? [] : [common];
  expect(intersectRules(new Set([one]), new Set([other]))).toEqual({ rules, isComplete: true });
  expect(intersectRules(new Set([other]), new Set([one]))).toEqual({ rules, isComplete: true });
});

test('a rule of both stands as it is, beside what others have in common', () => {
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

test('says where there are too many rules to look at each with each', () => {
  const many = (group: string): Set<PolicyRule> =>
    new Set(Array.from({ length: 400 }, (_, i) => posts({ apiGroups: [group], resourceNames: [`${i}`] })));
  expect(intersectRules(many('a'), many('b'))).toEqual({ rules: [], isComplete: false });
});
