import { expect, test } from '@jest/globals';
import type { IndexBuildProgress } from '#pkg/storage/index';
import { indexesReady } from './definition-conditions.ts';

function messageOf(progress?: IndexBuildProgress): string {
  return indexesReady([
    { name: 'ready', state: 'ready' },
    { name: 'title', state: 'building', ...(progress === undefined ? {} : { progress }) },
    { name: 'year', state: 'building' },
  ]).message;
}

test.each<[IndexBuildProgress | undefined, string]>([
  [undefined, 'title, year'],
  [{ phase: 'starting' }, 'title (starting), year'],
  [{ phase: 'filling its column', done: 0.009 }, 'title (filling its column: 0%), year'],
  ...(
    [
      [0, 'under 10 s'],
      [10, 'under 10 s'],
      [10.1, 'about 20 s'],
      [55, 'about 60 s'],
      [56, 'about 1 min'],
      [61, 'about 2 min'],
      [6_000, 'about 100 min'],
      [6_001, 'about 2 h'],
      [200_000, 'about 56 h'],
    ] as const
  ).map(([secondsLeft, left]): [IndexBuildProgress, string] => [
    { phase: 'filling its column', done: 0.429, secondsLeft },
    `title (filling its column: 42%, ${left} left in this phase), year`,
  ]),
  [
    { phase: 'waiting for old snapshots', waitsFor: { transactions: 1, pid: 4711 } },
    'title (waiting for old snapshots: 1 transaction has to end; one is of the session with pid 4711), year',
  ],
  [
    { phase: 'waiting for writers before build', waitsFor: { transactions: 2 } },
    'title (waiting for writers before build: 2 transactions have to end), year',
  ],
])('the condition says of %j: %s', (progress, message) => {
  expect(messageOf(progress)).toBe(`being built: ${message}`);
});
