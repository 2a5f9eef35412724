import { expect, test } from '@jest/globals';
import { VerifiedCredentials } from './verified-credentials.ts';

test('a credential is verified for a while, or until it is wrong', () => {
  const verified = new VerifiedCredentials();
  verified.add('good');
  expect([verified.has('good'), verified.has('other')]).toEqual([true, false]);
  verified.delete('good');
  expect(verified.has('good')).toBe(false);
  const shortLived = new VerifiedCredentials({ maxAgeMs: 0 });
  shortLived.add('good');
  expect(shortLived.has('good')).toBe(false);
});

test('the latest are kept', () => {
  const verified = new VerifiedCredentials({ maxCount: 2 });
  for (const name of ['a', 'b', 'a', 'c']) verified.add(name);
  expect(['a', 'b', 'c'].filter((name) => verified.has(name))).toEqual(['a', 'c']);
});
