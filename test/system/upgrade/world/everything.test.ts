import { expect, test } from '@jest/globals';
import type { ApiObject } from '../api-client.ts';
import { differences } from './everything.ts';

function object(more: object = {}): ApiObject {
  return { metadata: { name: 'a', uid: '1', resourceVersion: '5' }, spec: { n: 1 }, ...more };
}
const before = new Map([['v1/things /a', object()]]);
const after = (now: ApiObject): Map<string, ApiObject> => new Map([['v1/things /a', now]]);

test.each([
  {
    reason: 'the same, with its keys in another order',
    now: { spec: { n: 1 }, metadata: { resourceVersion: '5', uid: '1', name: 'a' } } as ApiObject,
    free: false,
    expected: 0,
  },
  { reason: 'another spec', now: object({ spec: { n: 2 } }), free: false, expected: 1 },
  {
    reason: 'another revision',
    now: object({ metadata: { name: 'a', uid: '1', resourceVersion: '6' } }),
    free: false,
    expected: 1,
  },
  { reason: 'an added status', now: object({ status: {} }), free: false, expected: 1 },
  { reason: 'an added status, which may change', now: object({ status: {} }), free: true, expected: 0 },
  { reason: 'another spec, which may change', now: object({ spec: {} }), free: true, expected: 1 },
  {
    reason: 'recreated, although it may change',
    now: object({ metadata: { name: 'a', uid: '2', resourceVersion: '5' } }),
    free: true,
    expected: 1,
  },
])('detects a difference: $reason', ({ now, free, expected }) => {
  expect(differences(before, after(now), () => free)).toHaveLength(expected);
});

test('detects missing objects, and ignores new ones', () => {
  expect(differences(before, new Map(), () => true)).toEqual(['v1/things /a is gone']);
  expect(differences(new Map(), before, () => false)).toEqual([]);
});
