import { expect, test } from '@jest/globals';
import { formatRequest, parseRequest } from '#pkg/runtime/index';
import { formatTarget, parseTarget, type CollectorTarget } from './collector-target.ts';

test.each<CollectorTarget>([
  { look: 'object', resource: 'posts.blog.example.com', key: { namespace: 'default', name: 'a' } },
  { look: 'object', resource: 'namespaces', key: { namespace: '', name: 'sweep' } },
  {
    look: 'object',
    resource: 'customresourcedefinitions.apiextensions.k8s.io',
    key: { namespace: '', name: 'posts.blog.example.com' },
  },
  { look: 'sweep', resource: 'posts.blog.example.com' },
  { look: 'gone' },
])('a target survives the queue: %j', (target) => {
  expect(parseTarget(parseRequest(formatRequest(formatTarget(target))))).toEqual(target);
});
