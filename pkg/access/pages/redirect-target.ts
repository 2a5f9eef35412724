const maxNextLength = 1000;
const fallback = '/settings/';

/**
 * Where a login continues: a path of this service, or a page of an allowed origin, never another host; else the settings
 * page.
 */
export function redirectTarget(next: unknown, allowedOrigins: readonly string[]): string {
  // Browsers treat a backslash as a slash and ignore control characters: `/\elsewhere` is another host.
  if (typeof next !== 'string' || next.length > maxNextLength || !/^[\x21-\x5b\x5d-\x7e]+$/.test(next)) return fallback;
  return next.startsWith('/') ? localTarget(next) : allowedTarget(next, allowedOrigins);
}

function localTarget(next: string): string {
  const base = 'http://own.invalid';
  if (next.startsWith('//') || !URL.canParse(next, base)) return fallback;
  const { origin, pathname, search, hash } = new URL(next, base);
  // `/x/..//elsewhere` begins with two slashes after its dots are resolved.
  return origin === base && !pathname.startsWith('//') ? pathname + search + hash : fallback;
}

function allowedTarget(next: string, allowedOrigins: readonly string[]): string {
  if (!URL.canParse(next)) return fallback;
  const { origin, username, password, href } = new URL(next);
  return username === '' && password === '' && allowedOrigins.includes(origin) ? href : fallback;
}
