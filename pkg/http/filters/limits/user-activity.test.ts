import { afterEach, expect, jest, test } from '@jest/globals';
import { UserActivity } from './user-activity.ts';

afterEach(() => void jest.restoreAllMocks());

test.each<[string, [user: string, at: number][], Record<string, boolean>]>([
  ['nobody has asked', [], { a: true }],
  [
    'one user asks',
    [
      ['a', 0],
      ['a', 5000],
    ],
    { a: true, b: false },
  ],
  [
    'two ask in turns',
    [
      ['a', 4900],
      ['b', 4950],
      ['a', 5000],
    ],
    { a: false, b: false, c: false },
  ],
  [
    'another asked a second ago, or earlier',
    [
      ['b', 3999],
      ['a', 4500],
      ['a', 5000],
    ],
    { a: true, b: false },
  ],
  [
    'of three the last but one counts',
    [
      ['c', 4800],
      ['b', 4900],
      ['a', 4950],
      ['a', 5000],
    ],
    { a: false, b: false },
  ],
])('%s', (_case, requests, expected) => {
  let now = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  const activity = new UserActivity();
  for (const [user, at] of requests) {
    now = at;
    activity.note(user);
  }
  now = 5000;
  expect(Object.fromEntries(Object.keys(expected).map((user) => [user, activity.isAlone(user)]))).toEqual(expected);
});
