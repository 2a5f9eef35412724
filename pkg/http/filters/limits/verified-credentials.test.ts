import { expect, test } from '@jest/globals';
import { VerifiedCredentials } from './verified-credentials.ts';

test('a credential stays verified for a time, or until it is wrong', () => {
  const verified = new VerifiedCredentials();
  verified.add('good', 'ada');
  expect([verified.has('good'), verified.has('other')]).toEqual([true, false]);
  verified.delete('good');
  expect(verified.has('good')).toBe(false);
  const shortLived = new VerifiedCredentials({ maxAgeMs: 0 });
  shortLived.add('good', 'ada');
  expect(shortLived.has('good')).toBe(false);
});

test('the latest are kept', () => {
  const verified = new VerifiedCredentials({ maxCount: 2 });
  for (const name of ['a', 'b', 'a', 'c']) verified.add(name, 'ada');
  expect(['a', 'b', 'c'].filter((name) => verified.has(name))).toEqual(['a', 'c']);
});

test('the latest of one owner are kept, and do not displace others', () => {
  const verified = new VerifiedCredentials({ maxCount: 4, maxPerOwner: 2 });
  verified.add('of ada', 'ada');
  for (let i = 0; i < 10; i += 1) verified.add(String(i), 'bob');
  expect(['of ada', '7', '8', '9'].filter((name) => verified.has(name))).toEqual(['of ada', '8', '9']);
  // A key that gets another owner counts for the new one.
  verified.add('9', 'ada');
  verified.add('of bob', 'bob');
  expect(['of ada', '8', '9', 'of bob'].filter((name) => verified.has(name))).toEqual(['of ada', '8', '9', 'of bob']);
});
