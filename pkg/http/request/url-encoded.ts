import { newBadRequest } from '#pkg/apimachinery/index';

/** Of a query, and of a form. */
export const maxUrlEncoded = 1000;

/** What the text is, for the words of a refusal. */
export type UrlEncodedText = 'query' | 'form';

const parts = { query: 'query parameter', form: 'form field' } as const;

/**
 * The parameters of a request target's query. URLSearchParams alone takes a malformed escape for plain text, and bytes
 * that are no UTF-8 for U+FFFD.
 * @throws StatusError 400 that names the parameter, for an escape that is malformed or no UTF-8, for what must be
 * escaped, and for more than 1000 parameters
 */
export function parseQuery(text: string): URLSearchParams {
  // Node gives bytes above 0x7f as Latin-1.
  if (/[^\x21-\x7e]/.test(text)) throw newBadRequest('the query has a character that must be percent-encoded');
  return parseUrlEncoded(text, 'query');
}

/**
 * The same of `application/x-www-form-urlencoded`, which may hold any character as it is. The value is never repeated:
 * it may be a secret.
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
