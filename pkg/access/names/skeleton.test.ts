import { expect, test } from '@jest/globals';
import { skeleton, skeletonKeys } from './skeleton.ts';

/** Examples from UTS #39 and confusables.txt. */
test.each([
  ['paypal', 'p\u0430yp\u0430l'],
  ['scope', '\u0455\u0441\u043E\u0440\u0435'],
  ['admin', '\u0430dmin'],
  ['adrnin', 'admin'],
  ['\u0441', 'c'],
  ['l', '1'],
  ['l', 'I'],
  ['l', '|'],
  ['O', '0'],
  ['O', '\u041E'],
  ['\uFDFA', '\u0635\u0644\u0649 \u0627\u0644\u0644\u0647 \u0639\u0644\u064A\u0647 \u0648\u0633\u0644\u0645'],
  ['e\u0301', '\u00E9'],
  ['ab', 'a\u200Db'],
])('%s and %s have one skeleton', (one, other) => {
  expect(skeleton(one)).toBe(skeleton(other));
});

test('characters without lookalikes stay', () => {
  for (const text of ['abcdefghjkopqrstuvxyz', '23456789', 'äöüß']) expect(skeleton(text)).toBe(text.normalize('NFD'));
});

const alike = (one: string, other: string): boolean =>
  skeletonKeys(one).some((key) => skeletonKeys(other).some((each) => each.equals(key)));

test.each([
  { one: 'admin', other: '\u0430dmin', reason: 'a letter of Cyrillic' },
  { one: 'Admin', other: '\u0430dmin', reason: 'and the other one in capitals' },
  { one: 'ADMIN', other: '\u0410DMIN', reason: 'both in capitals' },
  { one: 'paypal', other: 'paypaI', reason: 'a capital I' },
  { one: 'PAYPAL', other: 'paypaI', reason: 'a capital I, though nothing of it is as it was' },
  { one: 'admin', other: 'adrnin', reason: 'r and n' },
  { one: 'user1', other: 'userl', reason: 'a digit' },
  { one: 'mia', other: '\u217Fia', reason: 'a Roman numeral' },
  { one: '\u03BFmega', other: 'omega', reason: 'a letter of Greek' },
])('$one and $other look alike: $reason', ({ one, other }) => {
  expect([alike(one, other), alike(other, one)]).toEqual([true, true]);
});

test('names that people can tell apart do not look alike', () => {
  const names = [
    'admin',
    'mia',
    'maria',
    'noah',
    'nora',
    'o.neil',
    'o-neil',
    'oneil',
    'jurgen',
    'jürgen',
    'анна',
    'анно',
    '王伟',
    '王芳',
    ...Array.from({ length: 300 }, (_, i) => `user${i}`),
    ...Array.from({ length: 40 }, (_, i) => `node-0${i}`),
  ];
  const owners = new Map<string, string>();
  for (const name of names) {
    for (const key of skeletonKeys(name)) {
      expect([name, owners.get(key.toString('hex')) ?? name]).toEqual([name, name]);
      owners.set(key.toString('hex'), name);
    }
  }
});

test('the longest name is compared in negligible time, and its keys have a fixed size', () => {
  const name = '\uFDFA'.repeat(128);
  expect(skeleton(name).length).toBeGreaterThan(2000);
  expect(skeletonKeys(name).map(({ length }) => length)).toEqual([32]);
});
