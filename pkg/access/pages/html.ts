/** Markup that is safe as it stands. */
export class Html {
  readonly text: string;

  /** Only for markup that is written here; texts from elsewhere go through `html`. */
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in markup; nothing stands for undefined and false. */
export type HtmlPart = string | number | Html | readonly HtmlPart[] | undefined | false;

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Tag of a template: texts in it stay texts, in elements and in quoted attributes. The trap: an attribute without
 * quotes, a script or a style is no place for a text.
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
