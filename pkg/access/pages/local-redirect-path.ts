const maxLength = 1000;

/** Redirect target of the query: a path of this service, never another host; else the settings page. */
export function localRedirectPath(next: unknown): string {
  const fallback = '/settings/';
  // Browsers treat a backslash as a slash and ignore control characters: `/\elsewhere` is another host.
  if (typeof next !== 'string' || next.length > maxLength || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(next))
    return fallback;
  const base = 'http://own.invalid';
  if (!URL.canParse(next, base)) return fallback;
  const { origin, pathname, search, hash } = new URL(next, base);
  // `/x/..//elsewhere` begins with two slashes after its dots are resolved.
  return origin === base && !pathname.startsWith('//') ? pathname + search + hash : fallback;
}
