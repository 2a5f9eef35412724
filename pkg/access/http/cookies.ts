import { parseCookie, stringifySetCookie } from 'cookie';

/** Session cookie of the pages. */
export const sessionCookie = 'svc_sessionid';

/**
 * Cookies by name, values without quotes; the first of several with one name, as its path is the most specific. Source:
 * RFC 6265.
 */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  return new Map(Object.entries(parseCookie(header ?? '', { decode: unquote }) as Record<string, string>));
}

function unquote(value: string): string {
  return /^"(.*)"$/.exec(value)?.[1] ?? value;
}

export interface CookieOptions {
  /** Seconds; 0 deletes it. Default: until the browser is closed. */
  maxAge?: number;
  /** Hidden from scripts. */
  httpOnly: boolean;
  secure: boolean;
}

/** A Set-Cookie header. */
export function formatCookie(name: string, value: string, options: CookieOptions): string {
  return stringifySetCookie({ name, value, path: '/', sameSite: 'lax', ...options });
}
