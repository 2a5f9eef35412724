import { newBadRequest } from '#pkg/apimachinery/index';

const digits = /^\d+$/;

/**
 * The value of a parameter that may occur once; undefined where it is absent. StatusError 400 where it occurs twice.
 */
export function singleParameter(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw newInvalidParameter(name, 'must be given at most once');
  return values[0];
}

/** The same, but an empty value counts as absent. */
export function textParameter(query: URLSearchParams, name: string): string | undefined {
  const text = singleParameter(query, name);
  return text === '' ? undefined : text;
}

/**
 * A count from 1; undefined where the parameter is absent, empty or 0. StatusError 400 for anything but a decimal
 * number up to 2^53.
 */
export function countParameter(query: URLSearchParams, name: string): number | undefined {
  const text = textParameter(query, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!digits.test(text) || !Number.isSafeInteger(value))
    throw newInvalidParameter(name, 'must be a whole number, 0 or greater');
  return value === 0 ? undefined : value;
}

/** `true`, `1`, `false` or `0`; undefined where the parameter is absent or empty. StatusError 400 for anything else. */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const text = textParameter(query, name)?.toLowerCase();
  if (text === undefined) return undefined;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw newInvalidParameter(name, 'must be true or false');
}

/** StatusError 400 that names the query parameter in its message and as a cause. */
export function newInvalidParameter(name: string, detail: string): Error {
  return newBadRequest(`query parameter "${name}": ${detail}`, [
    { reason: 'FieldValueInvalid', message: detail, field: name },
  ]);
}
