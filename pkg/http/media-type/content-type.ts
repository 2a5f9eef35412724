import { newUnsupportedMediaType } from '#pkg/apimachinery/index';
import { parseMediaType, type MediaType } from './media-type.ts';

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
