import { acceptsCoding } from '../media-type/accept.ts';
import { isNotModified } from '../request/entity-tags.ts';
import type { RequestContext } from '../request/request-context.ts';
import type { PageFile } from './page-files.ts';

/**
 * Strict: scripts and styles are files of this origin, nothing is inline, nothing is fetched or sent elsewhere.
 * swagger-ui's style sheet has images as data.
 */
const contentSecurityPolicy =
  "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

export interface AnswerPageFileOptions {
  /** Default: ask the server at each use. */
  cacheControl?: string;
  /** Default: that of a page of documentation. */
  policy?: string;
}

/** Answers with a file that is already compressed: `send` would compress it at each request. */
export function answerPageFile(
  { request, response }: RequestContext,
  file: PageFile,
  { cacheControl = 'no-cache', policy = contentSecurityPolicy }: AnswerPageFileOptions = {},
): void {
  const { contentType, hash } = file;
  const isHeld = isNotModified(request.headers['if-none-match'], hash);
  response.setHeader('ETag', `"${hash}"`);
  response.setHeader('Cache-Control', cacheControl);
  response.setHeader('Content-Security-Policy', policy);
  response.appendHeader('Vary', 'Accept-Encoding');
  if (isHeld) {
    response.statusCode = 304;
    response.end();
    return;
  }
  const { coding, payload } = encodingOf(request.headers['accept-encoding'], file);
  if (coding !== undefined) response.setHeader('Content-Encoding', coding);
  response.setHeader('Content-Type', contentType);
  response.setHeader('Content-Length', payload.length);
  if (request.method === 'HEAD') response.end();
  else response.end(payload);
}

function encodingOf(
  accepted: string | undefined,
  { body, gzipped, brotli }: PageFile,
): { coding?: string; payload: Buffer } {
  if (brotli !== undefined && acceptsCoding(accepted, 'br')) return { coding: 'br', payload: brotli };
  return acceptsCoding(accepted, 'gzip') ? { coding: 'gzip', payload: gzipped } : { payload: body };
}
