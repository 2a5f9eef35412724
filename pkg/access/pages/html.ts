/** Markup that is safe as it stands. */
export class Html {
  readonly text: string;

  /** For literal markup only; other texts go through `html`. */
  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template; undefined and false produce nothing. */
export type HtmlPart = string | number | Html | readonly HtmlPart[] | undefined | false;

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Template tag that escapes texts in elements and quoted attributes. The trap: unquoted attributes, scripts and styles
 * are not safe places for a text.
 */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  let text = strings[0]!;
  parts.forEach((part, i) => {
    text += textOf(part) + strings[i + 1]!;
  });
  return new Html(text);
}

function textOf(part: HtmlPart): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'object') return part.map(textOf).join('');
  return String(part).replaceAll(/[&<>"']/g, (character) => escapes[character]!);
}
