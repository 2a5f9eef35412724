import { isInexactNumber, textViolation } from '../serializer/value-rules.ts';
import { parseTimestamp } from '../serializer/timestamp.ts';
import type { IndexType, IndexValue } from './index-definition.ts';

const integerSyntax = /^-?\d{1,16}$/;
// Without work at load, so that the module is left out where only texts are formatted.
const firstDate = /* @__PURE__ */ Date.parse('0001-01-01T00:00:00Z');
const lastDate = /* @__PURE__ */ Date.parse('9999-12-31T23:59:59.999Z');
const numberSyntax = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Descriptions of the values of each type, for error messages. */
export const indexTypeDescriptions: Record<IndexType, string> = {
  string: 'a string without U+0000 and unpaired surrogates',
  integer: 'an integer between -9007199254740991 and 9007199254740991',
  number: 'a finite number',
  boolean: 'true or false',
  date: 'an RFC 3339 date',
};

/** Parses a text as a key of the index's type; undefined if it is invalid. Strings are kept as they are. */
export function parseIndexValue(type: IndexType, text: string): IndexValue | undefined {
  switch (type) {
    case 'string':
      return indexValueOf(type, text);
    case 'integer':
      return integerSyntax.test(text) ? indexValueOf(type, Number(text)) : undefined;
    case 'number':
      return numberSyntax.test(text) && !isInexactNumber(Number(text), text)
        ? indexValueOf(type, Number(text))
        : undefined;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    default:
      return parseDate(text);
  }
}

/**
 * Converts a JSON value to a key of the index's type; undefined if it is invalid. Only dates change: their text becomes
 * milliseconds.
 */
export function indexValueOf(type: IndexType, value: unknown): IndexValue | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' && textViolation(value) === undefined ? value : undefined;
    case 'integer':
      // Adding 0 turns -0 into 0.
      return typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : undefined;
    case 'number':
      return typeof value === 'number' && Number.isFinite(value) ? value + 0 : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    default:
      return typeof value === 'string' ? parseDate(value) : undefined;
  }
}

/**
 * Milliseconds since 1970 of an RFC 3339 timestamp or date (midnight UTC); undefined for anything else, and outside the
 * years 1 to 9999.
 */
export function parseDate(text: string): number | undefined {
  const date = parseTimestamp(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text);
  return isIndexDate(date) ? date : undefined;
}

/**
 * Whether an index can contain the date. RFC 3339 has a year 0, PostgreSQL does not; an offset may lead out of either
 * end.
 */
export function isIndexDate(date: unknown): date is number {
  return Number.isSafeInteger(date) && (date as number) >= firstDate && (date as number) <= lastDate;
}
