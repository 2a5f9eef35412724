import { expect, test } from '@jest/globals';
import { newBadRequest } from './status-error.ts';

test.each([
  ['a control character', 'a\u0000b', 'a\uFFFDb'],
  ['an escape sequence', '\u001B[2Jx', '\uFFFD[2Jx'],
  ['a control character of one byte more', 'a\u009Bb', 'a\uFFFDb'],
  ['half a character', 'a\uD83D', 'a\uFFFD'],
  ['a whole one', '\u{1F600}', '\u{1F600}'],
  ['lines, as a list of conflicts has', 'a\n\tb', 'a\n\tb'],
])('a message is printable: %s', (_reason, sent, shown) => {
  expect(newBadRequest(sent).toStatus().message).toBe(shown);
});
