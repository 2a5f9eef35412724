import { newBadRequest } from '#pkg/apimachinery/index';

const digits = /^\d+$/;

/** The value of a parameter that makes sense once; undefined where it is absent. Given twice, it is a 400. */
export function singleParameter(query: URLSearchParams, name: string): string | undefined {
  const values = query.getAll(name);
  if (values.length > 1) throw newInvalidParameter(name, 'must be given at most once');
  return values[0];
}

/** The same, empty counting as absent. */
export function textParameter(query: URLSearchParams, name: string): string | undefined {
  const text = singleParameter(query, name);
  return text === '' ? undefined : text;
}

/**
 * A count from 1; undefined where the parameter is absent, empty or 0. Anything else than a decimal number up to 2^53
 * is a 400.
 */
export function countParameter(query: URLSearchParams, name: string): number | undefined {
  const text = textParameter(query, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!digits.test(text) || !Number.isSafeInteger(value))
    throw newInvalidParameter(name, 'must be a whole number, 0 or greater');
  return value === 0 ? undefined : value;
}

/** `true`, `1`, `false` or `0`; undefined where the parameter is absent or empty. Anything else is a 400. */
export function booleanParameter(query: URLSearchParams, name: string): boolean | undefined {
  const text = textParameter(query, name)?.toLowerCase();
  if (text === undefined) return undefined;
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  throw newInvalidParameter(name, 'must be true or false');
}

/** A 400 that names the query parameter, in its message and as a cause. */
export function newInvalidParameter(name: string, detail: string): Error {
  return newBadRequest(`query parameter "${name}": ${detail}`, [
    { reason: 'FieldValueInvalid', message: detail, field: name },
  ]);
}
