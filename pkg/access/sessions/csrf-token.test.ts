import { expect, test } from '@jest/globals';
import { csrfTokenOf, isCsrfTokenOf } from './csrf-token.ts';

test('a session has one CSRF token, which differs from those of other sessions and does not reveal the session', () => {
  const token = csrfTokenOf('a'.repeat(36));
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(csrfTokenOf('a'.repeat(36))).toBe(token);
  expect(isCsrfTokenOf('a'.repeat(36), token)).toBe(true);
  expect(isCsrfTokenOf('b'.repeat(36), token)).toBe(false);
});

test.each(['', 'x', 'ä'.repeat(43), `${csrfTokenOf('s')} `, csrfTokenOf('s').toLowerCase(), csrfTokenOf('s').slice(1)])(
  '%j is not a token',
  (text) => {
    expect(isCsrfTokenOf('s', text)).toBe(false);
  },
);
