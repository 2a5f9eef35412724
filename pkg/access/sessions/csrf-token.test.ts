import { expect, test } from '@jest/globals';
import { csrfTokenOf, isCsrfTokenOf } from './csrf-token.ts';

test("a session has one CSRF token, which is no other session's and tells nothing of it", () => {
  const token = csrfTokenOf('a'.repeat(36));
  expect(token).toMatch(/^[\w-]{43}$/);
  expect(csrfTokenOf('a'.repeat(36))).toBe(token);
  expect(isCsrfTokenOf('a'.repeat(36), token)).toBe(true);
  expect(isCsrfTokenOf('b'.repeat(36), token)).toBe(false);
});

test.each(['', 'x', 'ä'.repeat(43), `${csrfTokenOf('s')} `, csrfTokenOf('s').toLowerCase(), csrfTokenOf('s').slice(1)])(
  '%j is none',
  (text) => {
    expect(isCsrfTokenOf('s', text)).toBe(false);
  },
);
