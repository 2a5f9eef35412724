const maxBytes = 4096;
// oxlint-disable-next-line no-control-regex -- control characters are what it removes
const control = /[\u0000-\u001f\u007f]+/g;

/**
 * Values of the `Warning` headers, one per text without duplicates, cut at 4 kB in all. Text is sent as UTF-8, which
 * Go's clients read back. Source: RFC 7234, 5.5; k8s.io/apimachinery/pkg/util/net NewWarningHeader.
 */
export function warningHeaders(texts: readonly string[]): string[] {
  const values: string[] = [];
  let left = maxBytes;
  for (const text of new Set(texts)) {
    const value = `299 - "${quotable(text, left - '299 - ""'.length)}"`;
    if (left <= '299 - ""'.length) break;
    left -= value.length;
    values.push(value);
  }
  return values;
}

/**
 * Node writes header text as latin1, one byte per character, so each UTF-8 byte becomes one character. `send` ensures
 * that Node does.
 */
function quotable(text: string, room: number): string {
  let out = '';
  for (const character of text.slice(0, maxBytes).replaceAll(control, ' ')) {
    const escaped =
      character === '"' || character === '\\' ? `\\${character}` : Buffer.from(character, 'utf8').toString('latin1');
    if (out.length + escaped.length > room) break;
    out += escaped;
  }
  return out;
}
