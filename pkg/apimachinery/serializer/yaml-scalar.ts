/**
 * Starts with a letter, so it is no indicator, number or time, and contains only letters, digits and harmless signs.
 */
const harmless = /^[A-Za-z_/][\w./-]*$/;
const letterFirst = /^[\p{L}_/]/u;
/** Characters that end a plain text or are not allowed in one. A search, so that a text of megabytes needs no stack. */
const special = /:(?:\s|$)|\s#|[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\uFEFF\uFFFE\uFFFF]|\s$/u;
/** Words with a meaning, also in YAML 1.1. */
const literal = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
/** Characters that JSON writes unescaped and YAML must not. */
const unprintable = /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g;
// oxlint-disable-next-line no-control-regex -- searches for control characters
const blockUnfit = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\p{Cs}\uFEFF\uFFFE\uFFFF]|^[ \t]+$/mu;

/** A text on one line: plain if every reader takes it for a text, else quoted as in JSON. */
export function yamlScalar(text: string): string {
  const isPlain = harmless.test(text) || (letterFirst.test(text) && !special.test(text));
  if (isPlain && !literal.test(text)) return text;
  return JSON.stringify(text).replaceAll(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * A text of several lines as a literal block, from its indicator on, without the last newline; undefined if it does not
 * fit into one.
 */
export function yamlBlock(text: string, indent: string): string | undefined {
  // Readers detect the indentation by the first line, and differ on lines of only white space.
  if (!text.includes('\n') || /^\s/.test(text) || blockUnfit.test(text)) return undefined;
  const chomping = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const body = chomping === '-' ? text : text.slice(0, -1);
  return `|${chomping}\n${indent}${body.replaceAll(/\n(?=[^\n])/g, `\n${indent}`)}`;
}
