/** The cookie of a session of the pages. */
export const sessionCookie = 'svc_sessionid';

const maxCookies = 100;

/**
 * Cookies by name; of several of one name the first, which is the one of the most specific path. Values may be quoted.
 * Source: RFC 6265.
 */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const cookies = new Map<string, string>();
  for (const pair of (header ?? '').split(';', maxCookies)) {
    const at = pair.indexOf('=');
    if (at < 1) continue;
    const name = pair.slice(0, at).trim();
    const value = pair.slice(at + 1).trim();
    if (!cookies.has(name))
      cookies.set(name, value.length > 1 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value);
  }
  return cookies;
}

export interface CookieOptions {
  /** Seconds; 0 removes it. Left out, it ends with the browser. */
  maxAge?: number;
  /** Hidden from scripts. */
  httpOnly: boolean;
  secure: boolean;
}

/** A Set-Cookie header. The value must be of a cookie's letters. */
export function formatCookie(name: string, value: string, { maxAge, httpOnly, secure }: CookieOptions): string {
  return [
    `${name}=${value}`,
    'Path=/',
    'SameSite=Lax',
    ...(maxAge === undefined ? [] : [`Max-Age=${maxAge}`]),
    ...(httpOnly ? ['HttpOnly'] : []),
    ...(secure ? ['Secure'] : []),
  ].join('; ');
}
