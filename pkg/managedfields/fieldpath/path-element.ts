import { compareIndexValues, isJsonObject, type JsonValue } from '#pkg/apimachinery/index';
import {
  compareElementValues,
  encodeElementFields,
  encodeElementValue,
  formatElementValue,
  formatFloat,
  type NumberFormat,
} from './element-value.ts';

/**
 * The elements of a path, as the keys of `fieldsV1`: `f:NAME` is a field or a key of a map, `k:{FIELDS}` an item of a
 * list by its keys, `v:VALUE` an item of a set, `i:INDEX` an item of another list.
 */
export const fieldElement = (name: string): string => `f:${name}`;
export const valueElement = (value: JsonValue): string => `v:${encodeElementValue(value)}`;
export const keyElement = (fields: [string, JsonValue][]): string => `k:${encodeElementFields(fields)}`;

// oxlint-disable-next-line no-control-regex -- they are written as escapes
const plainValue = /^v:(?:"[^"\\<>&\u0000-\u001f\u2028\u2029]*"|0|-?[1-9]\d{0,14}|true|false)$/;
// oxlint-disable-next-line no-control-regex -- they are written as escapes
const plainKey = /^k:\{"\w+":(?:"[^"\\<>&\u0000-\u001f\u2028\u2029]*"|0|-?[1-9]\d{0,14}|true|false)\}$/;
const indexForm = /^i:[-+]?\d{1,18}$/;

/**
 * The one form of an element that somebody wrote; undefined for a kind that is not known.
 * @throws SyntaxError if it is not an element.
 */
export function normalizeElement(text: string): string | undefined {
  if (text.charCodeAt(1) !== 0x3a) throw new SyntaxError(`missing colon: ${text.slice(0, 100)}`);
  switch (text[0]) {
    case 'f':
      return text;
    case 'v':
      return plainValue.test(text) ? text : valueElement(parseValue(text));
    case 'k': {
      if (plainKey.test(text)) return text;
      const fields = parseValue(text);
      if (!isJsonObject(fields)) throw new SyntaxError(`not an object: ${text.slice(0, 100)}`);
      return keyElement(Object.entries(fields));
    }
    case 'i':
      if (!indexForm.test(text)) throw new SyntaxError(`not an index: ${text.slice(0, 100)}`);
      return `i:${Number(text.slice(2))}`;
    default:
      return undefined;
  }
}

/** Whether an element is written in its one form. */
export function isNormalElement(text: string): boolean {
  try {
    return normalizeElement(text) === text;
  } catch {
    return false;
  }
}

function parseValue(element: string): JsonValue {
  return JSON.parse(element.slice(2)) as JsonValue;
}

/** Fields before keys, values and indexes; each by what it holds, numbers by their size. */
export function compareElements(a: string, b: string): number {
  const kind = kindRank(a) - kindRank(b);
  if (kind !== 0) return kind;
  if (a.startsWith('f:')) return compareIndexValues(a, b);
  if (a.startsWith('i:')) return Number(a.slice(2)) - Number(b.slice(2));
  const [left, right] = [parseValue(a), parseValue(b)];
  return isJsonObject(left) && isJsonObject(right) && a.startsWith('k:')
    ? compareFields(Object.entries(left), Object.entries(right))
    : compareElementValues(left, right);
}

function kindRank(element: string): number {
  return 'fkvi'.indexOf(element[0]!);
}

function compareFields(a: [string, JsonValue][], b: [string, JsonValue][]): number {
  for (const [position, [name, value]] of a.entries()) {
    const other = b[position];
    if (other === undefined) return 1;
    const order = compareIndexValues(name, other[0]) || compareElementValues(value, other[1]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/**
 * As messages show a path: `.spec.ports[containerPort=80,protocol="TCP"].name`. `formatNumber`: how numbers are
 * written, by default as those are that were read from `fieldsV1`.
 */
export function formatElements(path: readonly string[], formatNumber: NumberFormat = formatFloat): string {
  return path.map((element) => formatElement(element, formatNumber)).join('');
}

/** Characters of an element in a message. */
const maxShown = 1000;

function formatElement(element: string, formatNumber: NumberFormat): string {
  if (element.length > maxShown) return `[${element.slice(0, maxShown)}...]`;
  if (element.startsWith('f:')) return `.${element.slice(2)}`;
  if (element.startsWith('i:')) return `[${element.slice(2)}]`;
  const value = parseValue(element);
  if (element.startsWith('v:') || !isJsonObject(value)) return `[=${formatElementValue(value, formatNumber)}]`;
  return `[${Object.entries(value)
    .map(([name, member]) => `${name}=${formatElementValue(member, formatNumber)}`)
    .join(',')}]`;
}
