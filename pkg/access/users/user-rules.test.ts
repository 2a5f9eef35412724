import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { emailFault, groupFault, usernameFault } from './user-rules.ts';
import { fold } from '../names/fold-case.ts';

describe('a username', () => {
  test.each(['mia', 'Mia.M-2_x', 'ärger', '李雷', "o'neil", 'a+b', 'admin'])('%s', (text) =>
    expect(usernameFault(text)).toBeUndefined(),
  );

  test.each([
    { reason: 'an address', text: 'a@b' },
    { reason: 'an address once folded', text: 'a＠b' },
    { reason: 'a prefix', text: 'system:admin' },
    { reason: 'a prefix once folded', text: 'system：admin' },
    { reason: 'a path', text: 'a/b' },
    { reason: 'a space', text: 'a b' },
    { reason: 'an invisible space', text: 'a\u200bb' },
    { reason: 'a right-to-left override', text: 'a\u202eb' },
    { reason: 'a mark that becomes a space and an accent', text: 'a\u00b4' },
    { reason: 'an invisible filler', text: 'mia\u3164' },
    { reason: 'a variation selector', text: 'mia\ufe0f' },
    { reason: 'an empty braille pattern', text: '\u2800' },
    { reason: 'a dot', text: '.' },
    { reason: 'two dots', text: '..' },
    { reason: 'two dots once folded', text: '‥' },
    { reason: 'an id', text: 'DEADBEEF-0000-4000-8000-000000000000' },
    { reason: 'far too long for an index', text: 'ﷺ'.repeat(64) },
  ])('is not $reason', ({ text }) => expect(usernameFault(text)).toEqual(expect.any(String)));

  test('when folded is never an address, a prefix or a path, and fits an index', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 128 }), (text) => {
        const folded = fold(text);
        return usernameFault(text) !== undefined || (!/[@:/\s]/u.test(folded) && Buffer.byteLength(folded) < 2700);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('an e-mail address', () => {
  test.each(['a@b', 'mia+tag@example.com', 'ärger@bücher.example', "o'neil@x.y"])('%s', (text) =>
    expect(emailFault(text)).toBeUndefined(),
  );
  test.each([
    '',
    'a',
    '@',
    'a@',
    '@b',
    'a@b@c',
    'a b@c',
    'a@b c',
    'a@b\n',
    'a＠b',
    'a@＠',
    '<a@b>',
    'a,b@c',
    'a:b@c',
    'a@b/c',
  ])('is not %j', (text) => expect(emailFault(text)).toEqual(expect.any(String)));
});

describe('a group', () => {
  test.each(['writers', 'team:blog', 'Redaktion Köln', 'orgs:x', 'system'])('%s', (text) =>
    expect(groupFault(text)).toBeUndefined(),
  );
  test.each([
    'system:masters',
    'SYSTEM:masters',
    'svc:system-auditors',
    'org:1:OrgAdmin',
    'a\nb',
    '\u200bsystem:masters',
    'ｓｙｓｔｅｍ:masters',
    'system：masters',
    '\u017fvc:x',
  ])('is not %j', (text) => expect(groupFault(text)).toEqual(expect.any(String)));
});
