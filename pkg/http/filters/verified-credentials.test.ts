import { expect, test } from '@jest/globals';
import { VerifiedCredentials } from './verified-credentials.ts';

test('a credential is verified for a while', () => {
  const [good, other] = [VerifiedCredentials.hashOf('Bearer good'), VerifiedCredentials.hashOf('Bearer other')];
  const verified = new VerifiedCredentials();
  verified.add(good);
  expect([verified.has(good), verified.has(other), good.includes('good')]).toEqual([true, false, false]);
  const shortLived = new VerifiedCredentials({ maxAgeMs: 0 });
  shortLived.add(good);
  expect(shortLived.has(good)).toBe(false);
});

test('the latest are kept', () => {
  const verified = new VerifiedCredentials({ maxCount: 2 });
  for (const name of ['a', 'b', 'a', 'c']) verified.add(name);
  expect(['a', 'b', 'c'].filter((name) => verified.has(name))).toEqual(['a', 'c']);
});
