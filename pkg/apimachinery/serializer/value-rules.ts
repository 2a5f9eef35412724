import { newBadRequest, newRequestEntityTooLarge, StatusError } from '../status/status-error.ts';
import type { StatusCause } from '../status/status.ts';
import { formatPath, type PathSegment } from './field-path.ts';

/** Objects and arrays within one another, the outermost included. */
export const maxJsonDepth = 100;
/**
 * Values and keys of one body, and of one object with its defaults: objects, arrays, scalars and keys count one each. A server has
 * one event loop, and each of them costs it about a microsecond from the body to the store. The largest definitions in use have 5400.
 */
export const maxJsonValues = 100_000;

/** Keys that would reach an object's prototype in careless code; no object ever holds one. */
export function isPrototypeKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype';
}

/**
 * Would this number come back as another one? `literal` is the number as it was written.
 * An integer outside +-(2^53-1) is refused, however it is written, unless both the literal and the double's own shortest form
 * have a fraction part (`1.5e300`): so whatever is accepted is accepted again in the form the server answers it in.
 */
export function isInexactNumber(value: number, literal: string): boolean {
  if (value <= Number.MAX_SAFE_INTEGER && value >= Number.MIN_SAFE_INTEGER) return false;
  return !Number.isFinite(value) || !literal.includes('.') || !String(value).includes('.');
}

/** The rule a string or key breaks: PostgreSQL's text holds no U+0000, and UTF-8 no half of a surrogate pair. */
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
  return newBadRequest(`${field === '' ? 'the body' : field}: ${violation}`, [{ reason: 'FieldValueInvalid', message: violation, field }]);
}

export function inexactNumber(path: readonly PathSegment[], literal: string): StatusCause {
  const shown = literal.length > 40 ? `${literal.slice(0, 40)}...` : literal;
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${shown}: must be an integer between -(2^53-1) and 2^53-1, or a finite number with a fraction`, field: formatPath(path) };
}

/** A body is decoded before its kind is known, so this 422 names none. */
export function newInexactNumbers(causes: StatusCause[]): StatusError {
  const texts = causes.slice(0, 5).map((cause) => `${cause.field}: ${cause.message}`);
  return new StatusError(422, 'Invalid', `the body holds numbers that cannot be kept exactly: ${texts.join(', ')}`, { details: { causes } });
}
