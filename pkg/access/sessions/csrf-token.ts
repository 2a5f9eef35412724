import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The CSRF token of a session, derived from the session's token: it needs no storage and does not reveal that token.
 * Only pages of this service know it.
 */
export function csrfTokenOf(sessionToken: string): string {
  return createHmac('sha256', sessionToken).update('svc csrf token').digest('base64url');
}

/** In constant time. */
export function isCsrfTokenOf(sessionToken: string, text: string): boolean {
  const expected = Buffer.from(csrfTokenOf(sessionToken));
  const given = Buffer.from(text);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
