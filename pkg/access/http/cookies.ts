import { parseCookie, stringifySetCookie } from 'cookie';

/** Session cookie of the pages. */
export const sessionCookie = 'svc_sessionid';

const maxCookies = 100;

/**
 * The first 100 cookies by name, values without quotes; the first of several with one name, as its path is the most
 * specific. Source: RFC 6265.
 */
export function readCookies(header = ''): ReadonlyMap<string, string> {
  const first = header.split(';', maxCookies).join(';');
  return new Map(Object.entries(parseCookie(first, { decode: unquote }) as Record<string, string>));
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
