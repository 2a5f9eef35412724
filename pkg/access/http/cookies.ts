import { parseCookie, stringifySetCookie } from 'cookie';

/** The cookie of a session of the pages. */
export const sessionCookie = 'svc_sessionid';

/**
 * Cookies by name, values without quotes; the first of several with one name, which has the most specific path. Source:
 * RFC 6265.
 */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  return new Map(Object.entries(parseCookie(header ?? '', { decode: unquote }) as Record<string, string>));
}

function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value;
}

export interface CookieOptions {
  /** Seconds; 0 removes it. Default: it ends with the browser. */
  maxAge?: number;
  /** Hidden from scripts. */
  httpOnly: boolean;
  secure: boolean;
}

/** A Set-Cookie header. */
export function formatCookie(name: string, value: string, options: CookieOptions): string {
  return stringifySetCookie({ name, value, path: '/', sameSite: 'lax', ...options });
}
