import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { statusErrorFrom } from './status-error-from.ts';
import {
  newConflict,
  newExpired,
  newForbidden,
  newInvalid,
  newNotFound,
  newTooLargeResourceVersion,
  StatusError,
} from './status-error.ts';

const posts = { group: 'blog.example.com', resource: 'posts' };

describe('restores the error of a server', () => {
  test.each([
    ['with details', newNotFound(posts, 'a')],
    [
      'with causes',
      newInvalid({ group: posts.group, kind: 'Post' }, 'a', [
        { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.title' },
      ]),
    ],
    ['with a time to wait', newTooLargeResourceVersion('9', 3)],
    ['with a token', newExpired('too old', 'token')],
    ['with a reason that does not follow from its code', newConflict(posts, 'a', 'the object has been modified')],
    ['without details', new StatusError(400, 'BadRequest', 'no')],
    ['of a collection', newForbidden(posts, '', 'because')],
  ])('%s', (_reason, error) => {
    const copy = statusErrorFrom(JSON.parse(JSON.stringify(error.toStatus())), { requestId: 'r1' });
    expect(copy.toStatus()).toEqual(error.toStatus());
    expect(copy).toBeInstanceOf(StatusError);
    expect(copy.requestId).toBe('r1');
  });
});

describe('anything else becomes an error too', () => {
  test.each([
    [
      'a page of a proxy',
      '<html>',
      { code: 502 },
      { code: 502, reason: 'ServiceUnavailable', message: 'the server answered 502' },
    ],
    ['an empty answer', undefined, { code: 404 }, { code: 404, reason: 'NotFound' }],
    ['a redirect', undefined, { code: 302 }, { code: 302, reason: 'BadRequest' }],
    [
      'an object, not a Status',
      { kind: 'Post', message: 'm' },
      { code: 409 },
      { code: 409, reason: 'Conflict', message: 'the server answered 409' },
    ],
    [
      'fields of other types',
      { kind: 'Status', code: '1', reason: 7, message: {}, details: [] },
      {},
      { code: 500, reason: 'InternalError', message: 'the server answered 500' },
    ],
    [
      'an unknown reason',
      { kind: 'Status', code: 418, reason: 'Teapot', message: 'm' },
      {},
      { code: 418, reason: 'BadRequest', message: 'm' },
    ],
    [
      'a code that is not an error',
      { kind: 'Status', code: 200, message: 'm' },
      {},
      { code: 500, reason: 'InternalError' },
    ],
  ])('%s', (_reason, body, facts, expected) => {
    expect(statusErrorFrom(body, facts)).toMatchObject(expected);
  });

  test.each([
    [1.2, 2],
    [0, 0],
    [1e9, 86_400],
    [Infinity, 86_400],
    [NaN, undefined],
    [-1, undefined],
    ['1\r\nSet-Cookie: a=b', undefined],
  ])('retryAfterSeconds %p becomes %p', (retryAfterSeconds, expected) => {
    expect(statusErrorFrom({ kind: 'Status', details: { retryAfterSeconds } }).details?.retryAfterSeconds).toBe(
      expected,
    );
  });

  test('any value becomes an error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (details, reason, message) => {
        const error = statusErrorFrom({ kind: 'Status', details, reason, message });
        expect(statusErrorFrom(error.toStatus()).toStatus()).toEqual(error.toStatus());
      }),
      { numRuns: 200 },
    );
  });
});
