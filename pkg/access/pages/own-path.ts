const longest = 1000;

/** Where to go next, as the address asks for it: a path of this service, never another place; else the settings. */
export function ownPath(next: unknown): string {
  const fallback = '/settings/';
  // A browser takes a backslash for a slash, and passes over control characters: `/\elsewhere` is another host.
  if (typeof next !== 'string' || next.length > longest || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(next))
    return fallback;
  const base = 'http://own.invalid';
  if (!URL.canParse(next, base)) return fallback;
  const { origin, pathname, search, hash } = new URL(next, base);
  // `/x/..//elsewhere` begins with two slashes once its dots are gone.
  return origin === base && !pathname.startsWith('//') ? pathname + search + hash : fallback;
}
