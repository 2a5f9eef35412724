import type { IndexKey } from '#pkg/apimachinery/index';

/** Type `text`, as PostgreSQL numbers it for good. */
const textType = 25;
const headerBytes = 20;

/**
 * A `text[]` in PostgreSQL's binary form, not empty: sent as it is, where the textual form has every quote of every
 * body escaped here and unescaped there. Source: PostgreSQL, `array_recv` in arrayfuncs.c.
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

/** A date travels as ISO 8601; everything else as it is. */
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
