import { expect, test } from '@jest/globals';
import { VerifiedCredentials } from './verified-credentials.ts';

test('a credential stays verified for a time, or until it is wrong', () => {
  const verified = new VerifiedCredentials();
  verified.add('good', 'ada');
  expect([verified.ownerOf('good') !== undefined, verified.ownerOf('other') !== undefined]).toEqual([true, false]);
  verified.delete('good');
  expect(verified.ownerOf('good') !== undefined).toBe(false);
  const shortLived = new VerifiedCredentials({ maxAgeMs: 0 });
  shortLived.add('good', 'ada');
  expect(shortLived.ownerOf('good') !== undefined).toBe(false);
});

test('the latest are kept', () => {
  const verified = new VerifiedCredentials({ maxCount: 2 });
  for (const name of ['a', 'b', 'a', 'c']) verified.add(name, 'ada');
  expect(['a', 'b', 'c'].filter((name) => verified.ownerOf(name) !== undefined)).toEqual(['a', 'c']);
});

test('the latest of one owner are kept, and do not displace others', () => {
  const verified = new VerifiedCredentials({ maxCount: 4, maxPerOwner: 2 });
  verified.add('of ada', 'ada');
  for (let i = 0; i < 10; i += 1) verified.add(String(i), 'bob');
  expect(['of ada', '7', '8', '9'].filter((name) => verified.ownerOf(name) !== undefined)).toEqual([
    'of ada',
    '8',
    '9',
  ]);
  // A key that gets another owner counts for the new one.
  verified.add('9', 'ada');
  verified.add('of bob', 'bob');
  expect(['of ada', '8', '9', 'of bob'].filter((name) => verified.ownerOf(name) !== undefined)).toEqual([
    'of ada',
    '8',
    '9',
    'of bob',
  ]);
});

test('whether an owner is of the system is what the last authentication that knew its groups found', () => {
  const verified = new VerifiedCredentials();
  verified.add('key', 'ada');
  expect(verified.ownerOf('key')).toEqual({ id: 'ada', isSystem: false });
  verified.add('key', 'ada', true);
  verified.add('key', 'ada');
  expect(verified.ownerOf('key')).toEqual({ id: 'ada', isSystem: true });
  verified.add('key', 'bob');
  expect(verified.ownerOf('key')).toEqual({ id: 'bob', isSystem: false });
  verified.add('key', 'bob', true);
  verified.add('key', 'bob', false);
  expect(verified.ownerOf('key')).toEqual({ id: 'bob', isSystem: false });
});
