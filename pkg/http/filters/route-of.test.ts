import { expect, test } from '@jest/globals';
import { parseRequestInfo } from '../request/parse-request-info.ts';
import { routeOf } from './with-metrics.ts';

test.each([
  ['GET', '/apis/g.io/v1/posts', '/apis/{group}/{version}/{resource}'],
  ['GET', '/apis/g.io/v1/posts?fieldSelector=metadata.name%3Dx', '/apis/{group}/{version}/{resource}'],
  ['GET', '/apis/g.io/v1/posts/x', '/apis/{group}/{version}/{resource}/{name}'],
  ['PUT', '/apis/g.io/v1/posts/x/status', '/apis/{group}/{version}/{resource}/{name}/{subresource}'],
  ['GET', '/apis/g.io/v1/namespaces/n/posts', '/apis/{group}/{version}/namespaces/{namespace}/{resource}'],
  ['GET', '/apis/g.io/v1/namespaces/n/posts/x', '/apis/{group}/{version}/namespaces/{namespace}/{resource}/{name}'],
  ['GET', '/api/v1/namespaces', '/api/{version}/{resource}'],
  ['GET', '/api/v1/namespaces/n', '/api/{version}/{resource}/{name}'],
  ['GET', '/api/v1/namespaces/n/things', '/api/{version}/namespaces/{namespace}/{resource}'],
  ['GET', '/apis', '/apis'],
  ['GET', '/apis/g.io', '/apis/{group}'],
  ['GET', '/apis/g.io/v1', '/apis/{group}/{version}'],
  ['GET', '/nope/at/all', ''],
])('%s %s is %s', (method, url, route) => {
  const [path, query] = url.split('?');
  expect(routeOf({ route: undefined, info: parseRequestInfo(method, path!, new URLSearchParams(query)) })).toBe(route);
});

test('a handler with its own path pattern reports it', () => {
  expect(routeOf({ route: '/docs', info: parseRequestInfo('GET', '/docs/made-up', new URLSearchParams()) })).toBe(
    '/docs',
  );
});
