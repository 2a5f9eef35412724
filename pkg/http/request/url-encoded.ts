import { newBadRequest } from '#pkg/apimachinery/index';

/** Most parameters of a query or fields of a form. */
export const maxUrlEncoded = 1000;

/** The kind of text, for error messages. */
export type UrlEncodedText = 'query' | 'form';

const parts = { query: 'query parameter', form: 'form field' } as const;

/**
 * The parameters of a request target's query. URLSearchParams alone reads a malformed escape as plain text, and bytes
 * that are not UTF-8 as U+FFFD.
 * @throws StatusError 400 that names the parameter, for an escape that is malformed or not UTF-8, for an unescaped
 * special character, and for more than 1000 parameters
 */
export function parseQuery(text: string): URLSearchParams {
  // Node returns bytes above 0x7f as Latin-1.
  if (/[^\x21-\x7e]/.test(text)) throw newBadRequest('the query has a character that must be percent-encoded');
  return parseUrlEncoded(text, 'query');
}

/**
 * The same for `application/x-www-form-urlencoded`, which may contain any character unescaped. Errors never repeat the
 * value: it may be a secret.
 */
export function parseUrlEncoded(text: string, what: UrlEncodedText): URLSearchParams {
  if (text.split('&', maxUrlEncoded + 1).length > maxUrlEncoded)
    throw newBadRequest(`a ${what} has at most ${maxUrlEncoded} ${what === 'query' ? 'parameters' : 'fields'}`);
  if (text.includes('%') && !isDecodable(text)) throw newMalformed(text, what);
  return new URLSearchParams(text);
}

function newMalformed(text: string, what: UrlEncodedText): Error {
  const pair = text.split('&').find((each) => !isDecodable(each)) ?? '';
  const name = pair.split('=', 1)[0]!.slice(0, 100);
  const detail = 'has malformed percent-encoding';
  return newBadRequest(`${parts[what]} "${name}": ${detail}`, [
    { reason: 'FieldValueInvalid', message: detail, field: name },
  ]);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}
