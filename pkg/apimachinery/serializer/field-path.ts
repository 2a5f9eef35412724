/** One step into a value: a key of an object or an index of an array. */
export type PathSegment = string | number;

const maxShownKey = 60;

/**
 * `spec.tags[2]`, `metadata.labels[example.com/app]`: segments as one JSON path. Paths are shown in messages, so keys
 * are shortened, and control characters and unpaired surrogates become U+FFFD.
 */
export function formatPath(segments: readonly PathSegment[]): string {
  let path = '';
  for (const segment of segments) {
    if (typeof segment === 'number') path += `[${segment}]`;
    else if (/^[\w$-]{1,60}$/.test(segment)) path += path === '' ? segment : `.${segment}`;
    else path += `[${showKey(segment)}]`;
  }
  return path;
}

function showKey(key: string): string {
  const short = key.length > maxShownKey ? `${key.slice(0, maxShownKey)}...` : key;
  return short.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, '\uFFFD');
}
