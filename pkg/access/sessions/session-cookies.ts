import { formatCookie, sessionCookie } from '../http/cookies.ts';

/** Readable by the pages' scripts, which send it in a header. */
export const csrfCookie = 'svc_csrftoken';

/**
 * Set-Cookie headers that start a session in a browser. The cookies last for the maximum age; the server enforces the
 * idle timeout.
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

/** Set-Cookie headers that delete the cookies. */
export function endSessionCookies({ secure }: { secure: boolean }): string[] {
  return [
    formatCookie(sessionCookie, '', { maxAge: 0, httpOnly: true, secure }),
    formatCookie(csrfCookie, '', { maxAge: 0, httpOnly: false, secure }),
  ];
}
