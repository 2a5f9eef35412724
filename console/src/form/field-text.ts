import type { JsonValue } from '@svc/client';

/**
 * What a person types for a number. A text that is no number stays a text: the server names it, and nothing that was
 * typed is lost.
 */
export function parseNumber(text: string): number | string {
  const trimmed = text.trim();
  if (!/^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed)) return text;
  const number = Number(trimmed);
  // A longer one would be stored as another number.
  const isExact = Number.isFinite(number) && (!/^-?\d+$/.test(trimmed) || Number.isSafeInteger(number));
  return isExact ? number : text;
}

/** `80` is a number; `"80"`, in quotes, is a text, as is everything else. */
export function parseIntOrString(text: string): number | string {
  if (/^(?:0|-?[1-9]\d*)$/.test(text)) return Number.isSafeInteger(Number(text)) ? Number(text) : text;
  return unquoted(text) ?? text;
}

export function intOrStringText(value: number | string): string {
  if (typeof value === 'number') return String(value);
  return parseIntOrString(value) === value ? value : JSON.stringify(value);
}

function unquoted(text: string): string | undefined {
  if (!/^".*"$/.test(text)) return undefined;
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}

/** Can a text field show it, and give it back as it is? A browser changes these characters. */
export function isTypable(text: string): boolean {
  return !/[^\P{Cc}\n\t]/u.test(text);
}

/** Is it a whole line, which a field of one line gives back as it is? */
export function isOneLine(text: string): boolean {
  return isTypable(text) && !text.includes('\n');
}

/** What a field of this value shows; undefined if it would not give the same value back. */
export function numberText(value: JsonValue): string | undefined {
  if (typeof value === 'number') return Object.is(parseNumber(String(value)), value) ? String(value) : undefined;
  return typeof value === 'string' && isOneLine(value) && parseNumber(value) === value ? value : undefined;
}
