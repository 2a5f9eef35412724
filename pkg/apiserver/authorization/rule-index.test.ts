import { expect, test } from '@jest/globals';
import type { PolicyRule } from '#pkg/apis/index';
import { CompiledRule } from './compiled-rule.ts';
import { accessQueryOf } from './access-query.ts';
import { RuleIndex } from './rule-index.ts';

const ruleOf = (resource: string): PolicyRule => ({ verbs: ['get'], apiGroups: [''], resources: [resource] });
const request = (resource: string, subresource = ''): Parameters<typeof accessQueryOf>[0] => ({
  verb: 'get',
  group: '',
  version: 'v1',
  namespace: '',
  name: 'a',
  resource,
  subresource,
  isResourceRequest: true,
  path: '',
});

test.each<[rule: string, resource: string, subresource: string, isAllowed: boolean]>([
  ['posts', 'posts', '', true],
  ['posts', 'posts', 'status', false],
  ['posts/status', 'posts', 'status', true],
  ['posts/status', 'posts', '', false],
  ['posts/status', 'posts', 'scale', false],
  ['*/status', 'posts', 'status', true],
  ['*/status', 'posts', 'scale', false],
  ['*/status', 'posts', '', false],
  ['*', 'posts', 'status', true],
])('a rule for %s, checked for %s %s: %s', (rule, resource, subresource, isAllowed) => {
  const index = new RuleIndex();
  index.add([new CompiledRule(ruleOf(rule))]);
  expect(index.allows(accessQueryOf(request(resource, subresource)))).toBe(isAllowed);
});

test('a removed rule allows nothing', () => {
  const index = new RuleIndex();
  const rules = [
    new CompiledRule(ruleOf('posts')),
    new CompiledRule({ verbs: ['get'], nonResourceURLs: ['/metrics'] }),
  ];
  const questions = [
    accessQueryOf(request('posts')),
    accessQueryOf({ ...request(''), isResourceRequest: false, path: '/metrics' }),
  ];
  index.add(rules);
  expect(questions.map((question) => index.allows(question))).toEqual([true, true]);
  index.remove(rules);
  expect(questions.map((question) => index.allows(question))).toEqual([false, false]);
});
