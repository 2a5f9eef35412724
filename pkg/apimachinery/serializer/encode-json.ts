import { numberText } from './value-rules.ts';

/** With fewer digits an integer is at most 2^53-1. */
const manyDigits = 16;
const integer = /^-?\d+$/;

/**
 * A value as JSON that `decodeJson` accepts: an integer beyond 2^53-1 is written with an exponent, `1e+20`, where
 * `JSON.stringify` writes digits that are not exact. Otherwise like `JSON.stringify`; undefined for a value without
 * JSON form.
 */
export function encodeJson(value: object): string;
export function encodeJson(value: unknown): string | undefined;
export function encodeJson(value: unknown): string | undefined {
  const text = JSON.stringify(value) as string | undefined;
  return text !== undefined && hasManyDigits(text) ? withExponents(text) : text;
}

/** Whether there are 16 digits in a row. Checks every 16th character, which is enough for nearly every text. */
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

/** Digits and the other characters of numbers from `JSON.stringify`; no JSON keyword begins with any of them. */
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
