import { newBadRequest, newRequestEntityTooLarge, StatusError } from '../status/status-error.ts';
import type { StatusCause } from '../status/status.ts';
import { formatPath, type PathSegment } from './field-path.ts';

/** Nesting of objects and arrays, the outermost included. */
export const maxJsonDepth = 100;
/**
 * Limit of values and keys of one body, and of one object with its defaults: objects, arrays, scalars and keys count
 * one each. Each costs the server's event loop about a microsecond from the body to the store. The largest definitions
 * in use have 5400.
 */
export const maxJsonValues = 100_000;

/** Keys that would reach an object's prototype in careless code; no object ever contains one. */
export function isPrototypeKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype';
}

/** From here on JSON.stringify writes an exponent itself. */
const exponentsFrom = 1e21;
/** A decimal of at most so many digits survives the conversion to a double and back. */
const exactDigits = 15;
/** Also for YAML; in a hexadecimal number E is a digit. */
const floatForm = /^[-+]?\d*[.eE]/;

/**
 * Whether the number would be returned changed. `literal` is its notation. Without point and exponent it is an integer
 * and must be within ±(2^53-1). With one it is a 64-bit float, as in Kubernetes, and is rounded to the nearest; but
 * from 2^53 to 2^63 no digit may be lost.
 */
export function isInexactNumber(value: number, literal: string): boolean {
  if (isSafe(value)) return false;
  if (!Number.isFinite(value) || !floatForm.test(literal)) return true;
  // Integers up to here must keep every digit in whatever notation: another program may treat them as 64-bit integers.
  return Math.abs(value) <= 2 ** 63 && !printsAs(value, literal);
}

/** A number as JSON that `isInexactNumber` accepts: an integer beyond 2^53-1 is written with an exponent. */
export function numberText(value: number): string {
  const size = Math.abs(value);
  return size <= Number.MAX_SAFE_INTEGER || size >= exponentsFrom ? JSON.stringify(value) : value.toExponential();
}

function isSafe(value: number): boolean {
  return value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER;
}

/** Whether the double prints as the written digits, at the same number of digits. */
function printsAs(value: number, literal: string): boolean {
  const digits = significantDigits(literal);
  if (digits.length <= exactDigits) return true;
  // The second check is much slower, and an integer up to 2^63 has no more than 19 digits.
  return (
    significantDigits(String(value)) === digits ||
    (digits.length <= 19 && significantDigits(value.toPrecision(digits.length)) === digits)
  );
}

/** The digits before the exponent, without leading and trailing zeros. Linear: a literal may be as long as a body. */
function significantDigits(literal: string): string {
  let point = -1;
  let start = -1;
  let end = 0;
  for (let at = 0; at < literal.length; at += 1) {
    const code = literal.charCodeAt(at);
    if (code === 0x65 || code === 0x45) break;
    if (code === 0x2e) point = at;
    if (code <= 0x30 || code > 0x39) continue;
    if (start === -1) start = at;
    end = at + 1;
  }
  return point > start && point < end
    ? literal.slice(start, point) + literal.slice(point + 1, end)
    : literal.slice(start, end);
}

/** The rule that a string or key breaks: PostgreSQL's text cannot contain U+0000, and UTF-8 no unpaired surrogate. */
export function textViolation(text: string): string | undefined {
  if (text.includes('\u0000')) return 'must not hold the character U+0000';
  return /\p{Surrogate}/u.test(text) ? 'must not hold an unpaired surrogate (U+D800 to U+DFFF)' : undefined;
}

export function newTooDeep(): StatusError {
  return newBadRequest(`the body is nested deeper than ${maxJsonDepth} levels`);
}

export function newTooManyValues(): StatusError {
  return newRequestEntityTooLarge(`the body holds more than ${maxJsonValues} values and keys`);
}

export function newBadText(path: readonly PathSegment[], violation: string): StatusError {
  const field = formatPath(path);
  return newBadRequest(`${field === '' ? 'the body' : field}: ${violation}`, [
    { reason: 'FieldValueInvalid', message: violation, field },
  ]);
}

export function inexactNumberCause(path: readonly PathSegment[], literal: string): StatusCause {
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}...` : literal;
  return {
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${shown}: must be an integer between -(2^53-1) and 2^53-1, or a number with a point or an exponent that a double keeps`,
    field: formatPath(path),
  };
}

/** A body is decoded before its kind is known, so this 422 names none. */
export function newInexactNumbers(causes: StatusCause[]): StatusError {
  const texts = causes.slice(0, 5).map((cause) => `${cause.field}: ${cause.message}`);
  return new StatusError(422, 'Invalid', `the body holds numbers that cannot be kept exactly: ${texts.join(', ')}`, {
    details: { causes },
  });
}
