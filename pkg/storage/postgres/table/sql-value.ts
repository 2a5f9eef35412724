import type { IndexKey } from '#pkg/apimachinery/index';

/** PostgreSQL's permanent OID of the type `text`. */
const textType = 25;
const headerBytes = 20;

/**
 * Encodes a non-empty `text[]` in PostgreSQL's binary form: the text form would escape every quote of every body here
 * and unescape it there. Source: PostgreSQL, `array_recv` in arrayfuncs.c.
 */
export function textArray(elements: readonly (string | null)[]): Buffer {
  const lengths = elements.map((element) => (element === null ? -1 : Buffer.byteLength(element)));
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + 4 + Math.max(length, 0), headerBytes));
  const header = [1, lengths.includes(-1) ? 1 : 0, textType, elements.length, 1];
  let at = 0;
  for (const number of header) at = bytes.writeInt32BE(number, at);
  for (const [i, element] of elements.entries()) {
    at = bytes.writeInt32BE(lengths[i]!, at);
    if (element !== null) at += bytes.write(element, at);
  }
  return bytes;
}

/** Converts a date to ISO 8601; other values stay unchanged. */
export function toSqlValue(key: IndexKey | undefined, isDate: boolean): string | number | boolean | null {
  if (key === null || key === undefined || Array.isArray(key)) return null;
  return isDate ? new Date(key as number).toISOString() : key;
}

export function toSqlArray(key: IndexKey | undefined, isDate: boolean): string[] {
  return Array.isArray(key) ? key.map((value) => String(toSqlValue(value, isDate))) : [];
}

export function arrayLiteral(elements: readonly string[]): string {
  return `{${elements.map((element) => `"${element.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',')}}`;
}
