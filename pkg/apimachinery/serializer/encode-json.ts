import { numberText } from './value-rules.ts';

/** Fewer are no integer beyond 2^53-1. */
const manyDigits = 16;
const integer = /^-?\d+$/;

/**
 * A value as JSON that `decodeJson` takes again: an integer beyond 2^53-1 is written with an exponent, `1e+20`, where
 * `JSON.stringify` writes all digits as if they were known. Like it in all else; undefined for what JSON has no text
 * for.
 */
export function encodeJson(value: object): string;
export function encodeJson(value: unknown): string | undefined;
export function encodeJson(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text !== undefined && hasManyDigits(text) ? withExponents(text) : text;
}

/** Are there 16 digits in a row? One look at each 16 characters: nearly every text is written without more. */
function hasManyDigits(text: string): boolean {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    let end = at + 1;
    while (isDigit(text.charCodeAt(start - 1))) start -= 1;
    while (isDigit(text.charCodeAt(end))) end += 1;
    if (end - start >= manyDigits) return true;
  }
  return false;
}

function withExponents(text: string): string {
  let encoded = '';
  let copied = 0;
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at);
    if (code === 0x22) {
      at = endOfString(text, at);
    } else if (isNumberPart(code)) {
      const start = at;
      while (at < text.length && isNumberPart(text.charCodeAt(at))) at += 1;
      // Most numbers are short.
      if (at - start < manyDigits) continue;
      const literal = text.slice(start, at);
      const written = integer.test(literal) ? numberText(Number(literal)) : literal;
      if (written === literal) continue;
      encoded += text.slice(copied, start) + written;
      copied = at;
    } else {
      at += 1;
    }
  }
  return encoded + text.slice(copied);
}

/** Digits, and what else `JSON.stringify` writes of a number; no word of JSON begins with any of these. */
function isNumberPart(code: number): boolean {
  return isDigit(code) || code === 0x2d || code === 0x2e || code === 0x2b;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (let code = text.charCodeAt(at); code !== 0x22; code = text.charCodeAt(at)) at += code === 0x5c ? 2 : 1;
  return at + 1;
}
