/** One line of text: control characters and unpaired surrogates, which PostgreSQL or a terminal refuses, become spaces. */
export function printable(text: string): string {
  // Nearly all texts are such; each write has about ten of them.
  if (/^[ -~]*$/.test(text)) return text;
  return text.replaceAll(/[\p{Cc}\p{Cs}]/gu, ' ');
}

/** The same for text that may have several lines: replaces only what PostgreSQL cannot store. */
export function storable(text: string): string {
  // Most texts have no such character, and this check is much faster than the replacement.
  if (!/[\ud800-\udfff]/.test(text) && !text.includes('\0')) return text;
  return text.replaceAll('\0', ' ').replaceAll(/\p{Cs}/gu, ' ');
}
