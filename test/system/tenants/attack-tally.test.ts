import { expect, test } from '@jest/globals';
import { idleKindsIn } from './attack-tally.ts';

test('a kind of request is idle if none succeeded, and a preparation if one did not', () => {
  const tally = {
    prepare: { 201: 41 },
    'prepare changes': { 200: 8, 429: 1 },
    get: { 200: 1, 429: 700, end: 3 },
    watch: { 406: 9, end: 2 },
    'list, whole': {},
  };
  expect(idleKindsIn(tally)).toEqual(['prepare changes (200, 429)', 'watch (406, end)', 'list, whole (no answer)']);
});
