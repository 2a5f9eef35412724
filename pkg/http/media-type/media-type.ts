import { newUnsupportedMediaType } from '#pkg/apimachinery/index';

/** One media type with its parameters, as Content-Type holds one and Accept a list of them. Source: RFC 9110, 8.3.1. */
export interface MediaType {
  /** Lower case: `application/json`, and in Accept also wildcards. */
  type: string;
  /** By lower-case name; values as sent. */
  parameters: ReadonlyMap<string, string>;
}

const maxParameters = 16;
/** `@` is in no token, but in names of Kubernetes: `application/com.github.proto-openapi.spec.v2@v1.0+protobuf`. */
const typeForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+\/[!#$%&'*+.^_`|~@0-9A-Za-z-]+$/;
const tokenForm = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Undefined if the text is not a media type or has more than 16 parameters. */
export function parseMediaType(text: string): MediaType | undefined {
  const [first, ...rest] = splitOutsideQuotes(text, ';');
  const type = first!.trim().toLowerCase();
  if (!typeForm.test(type) || rest.length > maxParameters) return undefined;
  const parameters = new Map<string, string>();
  for (const part of rest) {
    const trimmed = part.trim();
    if (trimmed === '') continue;
    const equals = trimmed.indexOf('=');
    const name = trimmed.slice(0, Math.max(equals, 0)).toLowerCase();
    const value = unquote(trimmed.slice(equals + 1));
    if (!tokenForm.test(name) || value === undefined) return undefined;
    if (!parameters.has(name)) parameters.set(name, value);
  }
  return { type, parameters };
}

/** Splits at each separator outside quoted strings. */
export function splitOutsideQuotes(text: string, separator: ',' | ';'): string[] {
  if (!text.includes('"')) return text.split(separator);
  const parts: string[] = [];
  let start = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i];
    if (quoted && character === '\\') i += 1;
    else if (character === '"') quoted = !quoted;
    else if (character === separator && !quoted) {
      parts.push(text.slice(start, i));
      start = i + 1;
    }
  }
  parts.push(text.slice(start));
  return parts;
}

function unquote(text: string): string | undefined {
  if (!text.startsWith('"')) return tokenForm.test(text) ? text : undefined;
  if (text.length < 2 || !text.endsWith('"')) return undefined;
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}

/**
 * The media type of a request body, which must be one of `accepted`; the first of them if the request has none. Only
 * UTF-8 is supported, so another `charset` is refused too. Throws StatusError 415.
 */
export function parseContentType(header: string | undefined, accepted: readonly [string, ...string[]]): MediaType {
  if (header === undefined || header === '') return { type: accepted[0], parameters: new Map() };
  const parsed = parseMediaType(header);
  if (parsed === undefined || !accepted.includes(parsed.type)) throw newUnsupportedMediaType(accepted);
  const charset = parsed.parameters.get('charset')?.toLowerCase();
  if (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8' && charset !== 'us-ascii')
    throw newUnsupportedMediaType(accepted);
  return parsed;
}
