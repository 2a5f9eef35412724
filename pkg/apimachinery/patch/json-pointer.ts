import { maxJsonDepth } from '../serializer/value-rules.ts';
import { newBadRequest } from '../status/status-error.ts';

/** Reference tokens of a JSON Pointer; none is the whole document. Source: RFC 6901. */
export type JsonPointer = readonly string[];

/**
 * @throws StatusError 400 for text that is not a pointer or has more than 100 steps, which no document has; `what`
 * names it in the message.
 */
export function parseJsonPointer(text: unknown, what: string): JsonPointer {
  if (typeof text !== 'string') throw newBadRequest(`${what} must be a JSON Pointer string`);
  if (text === '') return [];
  if (!text.startsWith('/') || /~(?![01])/.test(text))
    throw newBadRequest(`${what} is not a JSON Pointer: ${pointerExcerpt(text)}`);
  const tokens = text.slice(1).split('/', maxJsonDepth + 1);
  if (tokens.length > maxJsonDepth)
    throw newBadRequest(`${what} has more than ${maxJsonDepth} steps: ${pointerExcerpt(text)}`);
  // Replaces ~1 first, so that ~01 becomes ~1 and not a slash.
  return tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Quoted and shortened, for messages. */
export function pointerExcerpt(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
}
