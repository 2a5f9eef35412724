import { compareIndexValues, isJsonObject, type JsonValue } from '#pkg/apimachinery/index';

const escaped = /[<>&\u2028\u2029]/g;

/**
 * JSON text in the one form that path elements have: sorted keys, and in strings the escapes that Go writes. Equal
 * values have equal texts.
 */
export function encodeElementValue(value: JsonValue): string {
  if (typeof value === 'string') return encodeText(value).replaceAll(escaped, escapeCharacter);
  // -0 is written 0.
  if (typeof value !== 'object' || value === null) return JSON.stringify(value === 0 ? 0 : value);
  if (Array.isArray(value)) return `[${value.map(encodeElementValue).join(',')}]`;
  return encodeElementFields(Object.entries(value));
}

/** The JSON text of an object with these fields, sorted by name. A name has no escapes for HTML. */
export function encodeElementFields(fields: [string, JsonValue][]): string {
  if (fields.length > 1) fields.sort(([a], [b]) => compareIndexValues(a, b));
  return `{${fields.map(([name, value]) => `${encodeText(name)}:${encodeElementValue(value)}`).join(',')}}`;
}

/** Go has no short escape for backspace and form feed. */
function encodeText(text: string): string {
  const json = JSON.stringify(text);
  return json.includes('\\')
    ? json.replaceAll(/\\(?:.)/g, (pair) => (pair === '\\b' ? '\\u0008' : pair === '\\f' ? '\\u000c' : pair))
    : json;
}

function escapeCharacter(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Numbers before strings, booleans, lists, maps and null; each by its value. */
export function compareElementValues(a: JsonValue, b: JsonValue): number {
  const byType = typeRank(a) - typeRank(b);
  if (byType !== 0) return byType;
  if (typeof a === 'number' || typeof a === 'string' || typeof a === 'boolean')
    return compareIndexValues(a, b as typeof a);
  if (a === null) return 0;
  return compareIndexValues(encodeElementValue(a), encodeElementValue(b));
}

function typeRank(value: JsonValue): number {
  if (typeof value === 'number') return 0;
  if (typeof value === 'string') return 1;
  if (typeof value === 'boolean') return 2;
  if (Array.isArray(value)) return 3;
  return value === null ? 5 : 4;
}

/** As messages show a value: `80`, `"TCP"`. */
export function formatElementValue(value: JsonValue, format: NumberFormat): string {
  if (typeof value === 'string') return quoteText(value);
  if (typeof value === 'number') return format(value);
  if (Array.isArray(value)) return `[${value.map((item) => formatElementValue(item, format)).join(',')}]`;
  if (isJsonObject(value))
    return Object.entries(value)
      .map(([name, member]) => `${name}=${formatElementValue(member, format)}`)
      .join('');
  return String(value);
}

export type NumberFormat = (value: number) => string;

/** Go's `%v` of a float64, which has an exponent below 1e-4 and from 1e6 on. */
export function formatFloat(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (value === 0 || (power >= -4 && power < 6)) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** A number of an object, which is an integer if it is whole. */
export function formatNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : formatFloat(value);
}

const shortEscapes: Record<string, string> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Go's `%q`. */
export function quoteText(text: string): string {
  const quoted = text.replaceAll(/["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, (character) => {
    const short = shortEscapes[character];
    if (short !== undefined) return short;
    const code = character.codePointAt(0)!;
    if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
  return `"${quoted}"`;
}
