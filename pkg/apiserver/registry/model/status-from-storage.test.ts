import { describe, expect, test } from '@jest/globals';
import { isStatusError } from '#pkg/apimachinery/index';
import { StorageError, type StorageErrorCode } from '#pkg/storage/index';
import { statusFromStorage, statusFromError } from './status-from-storage.ts';

const subject = { resource: { group: 'g.io', resource: 'posts' }, kind: 'Post', name: 'x', namespace: 'ns' };

describe('statusFromStorage', () => {
  test.each<[StorageErrorCode, number, string, string]>([
    ['AlreadyExists', 409, 'AlreadyExists', 'posts.g.io "x" already exists'],
    ['NotFound', 404, 'NotFound', 'posts.g.io "x" not found'],
    [
      'Conflict',
      409,
      'Conflict',
      'Operation cannot be fulfilled on posts.g.io "x": the object has been modified; please apply your changes to the latest version and try again',
    ],
    ['FenceLost', 409, 'Conflict', 'Operation cannot be fulfilled on posts.g.io "x": internal words'],
    [
      'UniqueClash',
      409,
      'Conflict',
      'Operation cannot be fulfilled on posts.g.io "x": another object has the same value of the unique index "spec.slug"',
    ],
    ['IndexNotReady', 503, 'ServiceUnavailable', 'internal words'],
    ['NamespaceNotFound', 404, 'NotFound', 'namespaces "ns" not found'],
    [
      'NamespaceNotEmpty',
      409,
      'Conflict',
      'Operation cannot be fulfilled on posts.g.io "x": the namespace is not empty: delete the objects in it first',
    ],
    ['ModelNotFound', 404, 'NotFound', 'the server could not find the requested resource'],
    ['Compacted', 410, 'Expired', 'the resource version of the request is no longer kept: list again'],
    ['Overloaded', 429, 'TooManyRequests', 'internal words'],
    ['Timeout', 504, 'Timeout', 'the request did not complete within the time allowed: internal words'],
    ['Unavailable', 503, 'ServiceUnavailable', 'internal words'],
    ['TableInUse', 503, 'ServiceUnavailable', 'internal words'],
    ['KeysUnavailable', 503, 'ServiceUnavailable', 'internal words'],
  ])('%s is %i', (code, status, reason, message) => {
    const error = statusFromStorage(new StorageError(code, 'internal words', { index: 'spec.slug' }), subject);
    expect([error.code, error.reason, error.message]).toEqual([status, reason, message]);
    if ([429, 503, 504].includes(status)) expect(error.details?.retryAfterSeconds).toBeGreaterThan(0);
  });

  test('causes of an invalid key are the causes of the 422', () => {
    const causes = [{ reason: 'FieldValueTooLong', message: 'Too long', field: 'spec.slug' }];
    expect(statusFromStorage(new StorageError('InvalidKey', '', { causes }), subject)).toMatchObject({
      code: 422,
      details: { kind: 'Post', causes },
    });
  });

  test('a lost fence names the header that it came in', () => {
    const causes = [{ reason: 'FieldValueInvalid', message: 'the lease is lost', field: 'X-SVC-Fence' }];
    expect(statusFromStorage(new StorageError('FenceLost', 'the lease is lost'), subject)).toMatchObject({
      details: { causes },
    });
  });

  test('an aborted wait is 504; an unknown error is unchanged', () => {
    expect(isStatusError(statusFromError(new DOMException('aborted', 'AbortError'), subject), 'Timeout')).toBe(true);
    const fault = new TypeError('ours');
    expect(statusFromError(fault, subject)).toBe(fault);
  });
});
