import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { parseRequestInfo } from '#pkg/http/index';
import { levelOfRequest } from './level-of-request.ts';

const posts = '/apis/blog.example.com/v1/posts';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

function levelOf(method: string, target: string, headers: IncomingMessage['headers'] = {}): string {
  const [path = '', text] = target.split('?');
  const query = new URLSearchParams(text);
  return levelOfRequest({
    info: parseRequestInfo(method, path, query),
    query,
    request: { headers } as IncomingMessage,
  });
}

test.each([
  ['GET', `${posts}/a`, 'users'],
  ['GET', posts, 'bulk'],
  ['GET', `${posts}?limit=100`, 'users'],
  ['GET', `${posts}?limit=101`, 'bulk'],
  ['GET', `${posts}?limit=0`, 'bulk'],
  ['GET', `${posts}?continue=abc`, 'bulk'],
  ['GET', `${posts}?limit=20&continue=abc`, 'users'],
  ['GET', `${posts}?page=3`, 'users'],
  ['GET', `${posts}?page=0`, 'bulk'],
  ['GET', `${posts}?page=1&size=100`, 'users'],
  ['GET', `${posts}?size=1000`, 'bulk'],
  ['GET', `${posts}?labelSelector=a%3Db`, 'bulk'],
  ['GET', `${posts}?limit=1&size=1000`, 'bulk'],
  ['DELETE', posts, 'bulk'],
  ['DELETE', `${posts}/a`, 'users'],
  ['POST', posts, 'users'],
  ['GET', `${posts}?watch=true`, 'bulk'],
  ['GET', `${posts}?watch=true&resourceVersion=0`, 'bulk'],
  ['GET', `${posts}?watch=true&resourceVersion=00`, 'bulk'],
  ['GET', `${posts}?watch=true&resourceVersion=7`, 'users'],
  ['GET', `${posts}?watch=true&resourceVersion=7&sendInitialEvents=TRUE`, 'bulk'],
  ['GET', `${posts}?watch=true&sendInitialEvents=1`, 'bulk'],
  ['GET', `${posts}?watch=true&sendInitialEvents=false`, 'users'],
  ['GET', `${leases}/a`, 'system'],
  ['PUT', `${leases}/a`, 'system'],
  ['POST', leases, 'system'],
  ['GET', `${leases}?limit=5`, 'users'],
  ['GET', leases, 'bulk'],
  ['GET', `${leases}?watch=true&resourceVersion=7`, 'users'],
  ['PUT', '/apis/blog.example.com/v1/leases/a', 'users'],
  ['GET', '/openapi/v2', 'bulk'],
  ['GET', '/openapi/v3', 'bulk'],
  ['GET', '/openapi/v3/apis/blog.example.com/v1', 'bulk'],
  ['GET', '/docs/openapi/public.json', 'bulk'],
  ['GET', '/docs', 'users'],
  ['GET', '/apis', 'users'],
])('%s %s is of the level of %s', (method, target, level) => {
  expect(levelOf(method, target)).toBe(level);
});

test.each([
  ['small', { 'content-length': '65536' }, 'users', 'system'],
  ['large', { 'content-length': '65537' }, 'bulk', 'bulk'],
  ['of unknown length', { 'transfer-encoding': 'chunked' }, 'bulk', 'bulk'],
])('a body that is %s', (_reason, headers, ofPost, ofLease) => {
  expect([levelOf('POST', posts, headers), levelOf('PUT', `${leases}/a`, headers)]).toEqual([ofPost, ofLease]);
});
