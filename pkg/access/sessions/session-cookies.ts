import { formatCookie, sessionCookie } from '../http/cookies.ts';

/** Readable by the pages' scripts, which send it back in a header. */
export const csrfCookie = 'svc_csrftoken';

/**
 * Set-Cookie headers that begin a session in a browser. They last as long as a session can; how long it may be idle the
 * server decides.
 */
export function sessionCookies(
  { token, csrfToken, maxAgeSeconds: maxAge }: { token: string; csrfToken: string; maxAgeSeconds: number },
  { secure }: { secure: boolean },
): string[] {
  return [
    formatCookie(sessionCookie, token, { maxAge, httpOnly: true, secure }),
    formatCookie(csrfCookie, csrfToken, { maxAge, httpOnly: false, secure }),
  ];
}

/** Set-Cookie headers that end it. */
export function endSessionCookies({ secure }: { secure: boolean }): string[] {
  return [
    formatCookie(sessionCookie, '', { maxAge: 0, httpOnly: true, secure }),
    formatCookie(csrfCookie, '', { maxAge: 0, httpOnly: false, secure }),
  ];
}
