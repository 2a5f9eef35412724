const contentTypes = {
  css: 'text/css; charset=utf-8',
  gif: 'image/gif',
  html: 'text/html; charset=utf-8',
  jpg: 'image/jpeg',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain; charset=utf-8',
  webp: 'image/webp',
  woff2: 'font/woff2',
} as const satisfies Record<string, string>;

/** What the files of pages may end with. */
export const pageFileEndings: readonly string[] = Object.keys(contentTypes);

/** The type of a file of a page, by the end of its name; undefined for a file that no page may have. */
export function contentTypeOf(path: string): string | undefined {
  const ending = path.slice(path.lastIndexOf('.') + 1);
  return Object.hasOwn(contentTypes, ending) ? contentTypes[ending as keyof typeof contentTypes] : undefined;
}
