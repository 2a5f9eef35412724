import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isStatusError } from '#pkg/apimachinery/index';
import { parseRequestInfo } from './parse-request-info.ts';
import type { RequestInfo } from './request-info.ts';

function parse(method: string, url: string): RequestInfo {
  const [path, query] = url.split('?', 2);
  return parseRequestInfo(method, path!, new URLSearchParams(query));
}

/**
 * verb group/version namespace resource name subresource rest, `-` for an empty part; `path <verb> <path>` if it is no
 * resource request.
 */
function show(info: RequestInfo): string {
  if (!info.isResourceRequest) return `path ${info.verb} ${info.path}`;
  const parts = [
    info.verb,
    `${info.group}/${info.version}`,
    info.namespace,
    info.resource,
    info.name,
    info.subresource,
    info.rest.join('/'),
  ];
  return parts.map((part) => (part === '' ? '-' : part)).join(' ');
}

const g = '/apis/blog.example.com/v1';

describe('a path is parsed by the rules of Kubernetes', () => {
  test.each([
    ['GET', '/', 'path get /', 'root'],
    ['GET', '/livez', 'path get /livez', 'no prefix'],
    ['GET', '/api', 'path get /api', 'discovery'],
    ['GET', '/api/v1', 'path get /api/v1', 'discovery of a version'],
    ['GET', '/apis', 'path get /apis', 'discovery of groups'],
    ['GET', g, `path get ${g}`, 'discovery of a group version'],
    ['GET', '/apix/v1/posts', 'path get /apix/v1/posts', 'a prefix that only resembles'],
    ['GET', '/API/v1/posts', 'path get /API/v1/posts', 'case matters'],
    ['GET', `${g}/posts`, 'list blog.example.com/v1 - posts - - -', 'list'],
    ['HEAD', `${g}/posts`, 'list blog.example.com/v1 - posts - - -', 'HEAD is as GET'],
    ['GET', `${g}/posts?watch=true`, 'watch blog.example.com/v1 - posts - - -', 'watch'],
    ['GET', `${g}/posts?watch=1`, 'watch blog.example.com/v1 - posts - - -', 'watch by 1'],
    ['GET', `${g}/posts?watch=True`, 'watch blog.example.com/v1 - posts - - -', 'watch by True'],
    ['GET', `${g}/posts?watch`, 'watch blog.example.com/v1 - posts - - -', 'watch without a value, as upstream'],
    ['GET', `${g}/posts?watch=0`, 'list blog.example.com/v1 - posts - - -', 'no watch by 0'],
    ['GET', `${g}/posts?watch=FALSE`, 'list blog.example.com/v1 - posts - - -', 'no watch by false'],
    ['GET', `${g}/posts?watch=0&watch=1`, 'list blog.example.com/v1 - posts - - -', 'the first value counts'],
    ['GET', `${g}/posts/x?watch=true`, 'get blog.example.com/v1 - posts x - -', 'one object is got'],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name%3Dx`,
      'list blog.example.com/v1 - posts x - -',
      'one name selected',
    ],
    [
      'GET',
      `${g}/posts?watch=1&fieldSelector=metadata.name==x`,
      'watch blog.example.com/v1 - posts x - -',
      'one name watched',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name!=x`,
      'list blog.example.com/v1 - posts - - -',
      'other operators select no name',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name=x,spec.a=b`,
      'list blog.example.com/v1 - posts x - -',
      'among other clauses',
    ],
    [
      'GET',
      `${g}/posts?watch=1&fieldSelector=spec.a!=,metadata.namespace==b,metadata.name==x`,
      'watch blog.example.com/v1 - posts x - -',
      'wherever it is',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name=x,metadata.name=y`,
      'list blog.example.com/v1 - posts x - -',
      'two names select nothing',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=spec.a+in+(b,metadata.name=x)`,
      'list blog.example.com/v1 - posts - - -',
      'a value of a set is no clause',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=spec.a=(b,metadata.name=x,c)`,
      'list blog.example.com/v1 - posts - - -',
      'nor of a set by =',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=spec.a=b\\,metadata.name=x`,
      'list blog.example.com/v1 - posts - - -',
      'nor what an escaped comma is part of',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name=x,`,
      'list blog.example.com/v1 - posts - - -',
      'no clause is empty',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name^=x`,
      'list blog.example.com/v1 - posts - - -',
      'a prefix is no name',
    ],
    [
      'GET',
      `${g}/posts?fieldSelector=metadata.name=a%2Fb`,
      'list blog.example.com/v1 - posts - - -',
      'no name holds a slash',
    ],
    [
      'DELETE',
      `${g}/posts?fieldSelector=metadata.name=x`,
      'deletecollection blog.example.com/v1 - posts - - -',
      'a collection is not narrowed',
    ],
    ['POST', `${g}/posts`, 'create blog.example.com/v1 - posts - - -', 'create'],
    ['PUT', `${g}/posts/x`, 'update blog.example.com/v1 - posts x - -', 'update'],
    ['PUT', `${g}/posts`, 'update blog.example.com/v1 - posts - - -', 'the handler refuses it'],
    ['PATCH', `${g}/posts/x`, 'patch blog.example.com/v1 - posts x - -', 'patch'],
    ['DELETE', `${g}/posts/x`, 'delete blog.example.com/v1 - posts x - -', 'delete'],
    ['DELETE', `${g}/posts`, 'deletecollection blog.example.com/v1 - posts - - -', 'delete without a name'],
    ['OPTIONS', `${g}/posts/x`, 'options blog.example.com/v1 - posts x - -', 'another method'],
    ['GET', `${g}/posts/x/status`, 'get blog.example.com/v1 - posts x status -', 'subresource'],
    ['GET', `${g}/posts/x/status/y/z`, 'get blog.example.com/v1 - posts x status y/z', 'rest'],
    ['GET', `${g}/namespaces/n/posts`, 'list blog.example.com/v1 n posts - - -', 'namespaced list'],
    ['GET', `${g}/namespaces/n/posts/x/status`, 'get blog.example.com/v1 n posts x status -', 'namespaced subresource'],
    ['GET', '/api/v1/namespaces', 'list /v1 - namespaces - - -', 'namespaces themselves'],
    ['POST', '/api/v1/namespaces', 'create /v1 - namespaces - - -', 'a new namespace'],
    ['GET', '/api/v1/namespaces/n', 'get /v1 n namespaces n - -', 'a namespace is in itself'],
    ['PUT', '/api/v1/namespaces/n/status', 'update /v1 n namespaces n status -', 'status of a namespace'],
    ['PUT', '/api/v1/namespaces/n/finalize', 'update /v1 n namespaces n finalize -', 'finalize of a namespace'],
    ['GET', '/api/v1/namespaces/n/finalizes', 'list /v1 n finalizes - - -', 'resembles finalize'],
    ['GET', '/api/v1/namespaces/n/services/s', 'get /v1 n services s - -', 'core resource'],
    ['GET', '/api/v1/events', 'list /v1 - events - - -', 'across namespaces'],
    ['GET', `${g}/posts/`, `path get ${g}/posts/`, 'a trailing slash is no resource'],
    ['GET', '/api/v1/', 'path get /api/v1/', 'a trailing slash after a version'],
    ['GET', `${g}/p%6Fsts/a%20b`, 'get blog.example.com/v1 - posts a b - -', 'decoded'],
    ['GET', `${g}/posts/%F0%9F%98%80`, 'get blog.example.com/v1 - posts \u{1F600} - -', 'UTF-8'],
    ['GET', `${g}/posts/%252F`, 'get blog.example.com/v1 - posts %2F - -', 'decoded once'],
    [
      'GET',
      `${g}/__proto__/constructor`,
      'get blog.example.com/v1 - __proto__ constructor - -',
      'prototype keys are words here',
    ],
    ['constructor', `${g}/posts`, 'constructor blog.example.com/v1 - posts - - -', 'a method named as a prototype key'],
    ['GET', `${g}/posts/...`, 'get blog.example.com/v1 - posts ... - -', 'three dots are a name'],
  ])('%s %s is %s (%s)', (method, url, expected) => {
    expect(show(parse(method, url))).toBe(expected);
  });
});

describe('a path that is not plain is refused', () => {
  test.each([
    ['', 'empty'],
    ['apis/x', 'no slash'],
    ['*', 'asterisk form'],
    ['http://h/api/v1/pods', 'absolute form'],
    ['//api/v1/pods', 'empty first segment'],
    ['//', 'only empty segments'],
    [`${g}//posts`, 'empty segment'],
    [`${g}/posts//`, 'two trailing slashes'],
    [`${g}/./posts`, 'dot'],
    [`${g}/../posts`, 'dot dot'],
    [`${g}/posts/..`, 'dot dot at the end'],
    [`${g}/%2e%2E/posts`, 'encoded dot dot'],
    [`${g}/.%2e/posts`, 'half encoded dot dot'],
    [`${g}/posts/a%2Fb`, 'encoded slash'],
    [`${g}/posts/a%5cb`, 'encoded backslash'],
    [`${g}/posts/a\\b`, 'backslash'],
    [`${g}/posts/a%00`, 'NUL'],
    [`${g}/posts/a%0a`, 'line feed'],
    [`${g}/posts/%7F`, 'DEL'],
    [`${g}/posts/%`, 'lone percent'],
    [`${g}/posts/%zz`, 'no hexadecimal'],
    [`${g}/posts/%C3`, 'cut UTF-8'],
    [`${g}/posts/%ED%A0%80`, 'encoded lone surrogate'],
    [`${g}/posts/%c0%af`, 'overlong slash'],
    [`${g}/posts/é`, 'not ASCII'],
    [`${g}/posts/a b`, 'blank'],
    [`${g}/posts#x`, 'fragment'],
  ])('%s (%s)', (path) => {
    expect(() => parseRequestInfo('GET', path, new URLSearchParams())).toThrow(
      expect.objectContaining({ code: 400, reason: 'BadRequest' }),
    );
  });
});

test('any path gives a result or a StatusError, and no part has a slash or a control character', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '/',
      '//',
      'api',
      'apis',
      'v1',
      'namespaces',
      'status',
      'finalize',
      '%2F',
      '%00',
      '%2e',
      '.',
      '..',
      '%',
      '%25',
      '%C3%A9',
      'a',
      '?',
      '\\',
    ),
    fc.string({ maxLength: 6, unit: 'binary' }),
  );
  const path = fc.array(piece, { maxLength: 16 }).map((pieces) => `/${pieces.join('/')}`);
  fc.assert(
    fc.property(
      fc.oneof(
        path,
        path.map((text) => text.replaceAll('//', '/')),
        fc.string({ unit: 'binary' }),
      ),
      fc.string(),
      (text, query) => {
        try {
          const info = parseRequestInfo('GET', text, new URLSearchParams(query));
          for (const part of [
            info.group,
            info.version,
            info.namespace,
            info.resource,
            info.subresource,
            info.name,
            ...info.rest,
          ]) {
            // oxlint-disable-next-line no-control-regex -- what must not be there
            expect(part).not.toMatch(/[/\\\u0000-\u001f\u007f]|^\.\.?$/);
          }
        } catch (error) {
          if (!isStatusError(error)) throw error;
          expect(error.code).toBe(400);
        }
      },
    ),
    { numRuns: 1000 },
  );
});
