import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkPasswordRules } from './check-password-rules.ts';

const owner = { username: 'Maria.Müller', email: 'maria@example.com' };
const cases: { password: string; problem: RegExp | undefined }[] = [
  { password: 'gj4-kdlw', problem: undefined },
  { password: 'gj4-kdl', problem: /too short/ },
  { password: '', problem: /too short/ },
  { password: '🦀'.repeat(7), problem: /too short/ },
  { password: '🦀🐙🐚🐡🦀🐙🐚🐡', problem: undefined },
  { password: '🦀🐙🐚🐡'.repeat(64), problem: undefined },
  { password: 'aaaaaaaa', problem: /too common/ },
  { password: 'abcabcabcA', problem: /too common/ },
  { password: `${'🦀'.repeat(256)}x`, problem: /too long/ },
  { password: 'x'.repeat(257), problem: /too long/ },
  { password: 'x'.repeat(1_000_000), problem: /too long/ },
  { password: 'password', problem: /too common/ },
  { password: 'PassWord', problem: /too common/ },
  { password: 'ｐassword', problem: /too common/ },
  { password: '1qaz2wsx', problem: /too common/ },
  { password: 'maria.müller', problem: /the username/ },
  { password: 'MARIA.MU\u0308LLER', problem: /the username/ },
  { password: 'Maria@Example.com', problem: /the e-mail address/ },
  { password: 'gj4-kdlw\ud800', problem: /half a character/ },
  { password: 'gj4\0kdlw', problem: undefined },
  { password: '__proto__', problem: undefined },
  { password: 'constructor', problem: undefined },
];

test.each(cases)('$password', ({ password, problem }) => {
  const problems = checkPasswordRules(password, owner);
  if (problem === undefined) expect(problems).toEqual([]);
  else expect(problems).toEqual([expect.stringMatching(problem)]);
});

test('a user without an e-mail address is not checked for it', () => {
  for (const email of [undefined, null, ''])
    expect(checkPasswordRules('gj4-kdlw', { username: 'mia', email })).toEqual([]);
});

test('no message contains the password', () => {
  const sentences = new Set(
    ['', '\ud800', 'password', 'Maria.Müller', 'maria@example.com', 'x'.repeat(300)].flatMap((password) =>
      checkPasswordRules(password, owner),
    ),
  );
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (password) => {
      for (const sentence of checkPasswordRules(password, owner)) expect(sentences).toContain(sentence);
    }),
    { numRuns: 100 },
  );
});
