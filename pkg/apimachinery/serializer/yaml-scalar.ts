/**
 * Begins with a letter, so that it is no indicator, number or time, and holds nothing but letters, digits and harmless
 * signs.
 */
const harmless = /^[A-Za-z_/][\w./-]*$/;
const letterFirst = /^[\p{L}_/]/u;
/** What ends a plain text or does not belong in one. Searched for, so that a text of megabytes takes no stack. */
const special = /:(?:\s|$)|\s#|[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\uFEFF\uFFFE\uFFFF]|\s$/u;
/** Words that mean something, to readers of YAML 1.1 too. */
const literal = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
/** What JSON writes as it is and YAML must not. */
const unprintable = /[\u007F-\u009F\u2028\u2029\uFEFF\uFFFE\uFFFF]/g;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const blockUnfit = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u2028\u2029\p{Cs}\uFEFF\uFFFE\uFFFF]|^[ \t]+$/mu;

/** A text on one line: plain where no reader takes it for something else, else quoted as in JSON. */
export function yamlScalar(text: string): string {
  const isPlain = harmless.test(text) || (letterFirst.test(text) && !special.test(text));
  if (isPlain && !literal.test(text)) return text;
  return JSON.stringify(text).replaceAll(
    unprintable,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/**
 * A text of several lines as a literal block, from its indicator on and without its last newline; undefined for one
 * that does not fit into one.
 */
export function yamlBlock(text: string, indent: string): string | undefined {
  // Indentation is found by the first line, and lines of white space alone are read in more than one way.
  if (!text.includes('\n') || /^\s/.test(text) || blockUnfit.test(text)) return undefined;
  const chomping = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const body = chomping === '-' ? text : text.slice(0, -1);
  return `|${chomping}\n${indent}${body.replaceAll(/\n(?=[^\n])/g, `\n${indent}`)}`;
}
