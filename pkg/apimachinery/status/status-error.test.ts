import { expect, test } from '@jest/globals';
import { newBadRequest, newInvalid } from './status-error.ts';

test.each([
  ['a control character', 'a\u0000b', 'a\uFFFDb'],
  ['an escape sequence', '\u001B[2Jx', '\uFFFD[2Jx'],
  ['a control character of one byte more', 'a\u009Bb', 'a\uFFFDb'],
  ['half a surrogate pair', 'a\uD83D', 'a\uFFFD'],
  ['a complete surrogate pair', '\u{1F600}', '\u{1F600}'],
  ['several lines, as in a list of conflicts', 'a\n\tb', 'a\n\tb'],
])('a message has only printable characters: %s', (_reason, sent, shown) => {
  expect(newBadRequest(sent).toStatus().message).toBe(shown);
});

test('a message names the first causes, and the details name all', () => {
  const causes = Array.from({ length: 100 }, (_, i) => ({
    reason: 'FieldValueInvalid',
    message: 'x'.repeat(500),
    field: `spec.f${i}`,
  }));
  const { message, details } = newInvalid({ group: 'g.io', kind: 'Post' }, 'a', causes).toStatus();
  expect(message!.length).toBeLessThan(11_000);
  expect(message).toMatch(/^Post\.g\.io "a" is invalid: \[spec\.f0: x.*, and \d\d more\]$/);
  expect(details!.causes).toHaveLength(100);
});

test('the message truncates a very long name', () => {
  const name = 'A'.repeat(100_000);
  const { message, details } = newInvalid({ group: 'g.io', kind: 'Post' }, name, [
    { reason: 'FieldValueInvalid', message: 'no', field: 'metadata.name' },
  ]).toStatus();
  expect(message).toBe(`Post.g.io "${'A'.repeat(253)}..." is invalid: metadata.name: no`);
  expect(details?.name).toBe(`${'A'.repeat(253)}...`);
});
