import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * The CSRF token of a session: made from the session's own secret, so that it needs no storage, and tells nothing of
 * it. Only pages that this service sent know it.
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
