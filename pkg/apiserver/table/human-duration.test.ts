import { expect, test } from '@jest/globals';
import { humanDuration } from './human-duration.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

test.each<[number, string]>([
  [-year, '<invalid>'],
  [-2 * second, '<invalid>'],
  [-1999, '0s'],
  [-1, '0s'],
  [0, '0s'],
  [999, '0s'],
  [second, '1s'],
  [2 * minute - 1, '119s'],
  [2 * minute, '2m'],
  [2 * minute + second, '2m1s'],
  [10 * minute - 1, '9m59s'],
  [10 * minute, '10m'],
  [3 * hour - 1, '179m'],
  [3 * hour, '3h'],
  [3 * hour + 59 * second, '3h'],
  [3 * hour + 12 * minute, '3h12m'],
  [8 * hour - 1, '7h59m'],
  [8 * hour, '8h'],
  [2 * day - 1, '47h'],
  [2 * day, '2d'],
  [2 * day + hour, '2d1h'],
  [8 * day - 1, '7d23h'],
  [8 * day, '8d'],
  [2 * year - 1, '729d'],
  [2 * year, '2y'],
  [2 * year + day, '2y1d'],
  [8 * year - 1, '7y364d'],
  [8 * year, '8y'],
  [2000 * year, '2000y'],
])('%i ms are %s', (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});
