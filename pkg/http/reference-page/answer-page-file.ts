import { acceptsGzip } from '../media-type/accept.ts';
import { isNotModified } from '../request/entity-tags.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { PageFile } from './page-files.ts';

/**
 * Strict: scripts and styles are files of this origin, nothing is inline, nothing is fetched or sent elsewhere.
 * swagger-ui's style sheet has images as data.
 */
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** Answers with a file that is already compressed: `send` would compress it at each request. */
export function answerPageFile(
  { request, response }: RequestContext,
  { contentType, hash, body, gzipped }: PageFile,
): void {
  const isHeld = isNotModified(request.headers['if-none-match'], hash);
  response.setHeader('ETag', `"${hash}"`);
  response.setHeader('Cache-Control', 'no-cache');
  response.setHeader('Content-Security-Policy', contentSecurityPolicy);
  response.appendHeader('Vary', 'Accept-Encoding');
  if (isHeld) {
    response.statusCode = 304;
    response.end();
    return;
  }
  const zipped = acceptsGzip(request.headers['accept-encoding']);
  const payload = zipped ? gzipped : body;
  if (zipped) response.setHeader('Content-Encoding', 'gzip');
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', payload.length);
  if (request.method === 'HEAD') response.end();
  else response.end(payload);
}
