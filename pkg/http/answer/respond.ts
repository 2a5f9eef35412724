import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { largeTurn } from '#pkg/apimachinery/index';
import { acceptsGzip } from '../media-type/accept.ts';
import { uncountedBytes } from '../memory/byte-budget.ts';
import type { RequestContext } from '../request/request-context.ts';
import { warningHeaders } from './warning-header.ts';

const compress = promisify(gzip);

/** Bodies from this size on are compressed for clients that accept it. */
export const gzipThresholdBytes = 128 * 1024;

/** Answers from this size on wait until the event loop has no smaller work. */
const largeAnswerBytes = 256 * 1024;
/** Texts from this size on become a Buffer: each young-generation garbage collection would copy a waiting string. */
const encodedBytes = 16 * 1024;

export type AnswerHeaders = Readonly<Record<string, string | readonly string[]>>;

/** Answers with JSON text; see `send`. */
export function sendJson(
  context: RequestContext,
  status: number,
  body: string | Buffer,
  headers?: AnswerHeaders,
): Promise<void> {
  return send(context, status, 'application/json', body, headers);
}

/**
 * Answers a request once, in full: Content-Type, Content-Length, the context's warnings, gzip over 128 KiB where
 * accepted, no body for HEAD, 204 and 304. Does nothing if the client is gone or the time-out has already sent the
 * answer. Throws if an answer has begun: that is a mistake of the caller.
 */
export async function send(
  context: RequestContext,
  status: number,
  contentType: string,
  body: string | Buffer,
  headers?: AnswerHeaders,
): Promise<void> {
  const { request, response } = context;
  if (isAnswered(response)) return;
  let payload = body;
  let size = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
  if (size > gzipThresholdBytes) {
    response.appendHeader('Vary', 'Accept-Encoding');
    if (acceptsGzip(request.headers['accept-encoding'])) {
      payload = await compress(body, { level: 1 });
      if (isAnswered(response)) return;
      response.setHeader('Content-Encoding', 'gzip');
      size = payload.length;
    }
  }
  const bodiless = status === 204 || status === 304;
  if (!bodiless) {
    response.setHeader('Content-Type', contentType);
    response.setHeader('Content-Length', size);
  }
  if (size > largeAnswerBytes) {
    await largeTurn();
    if (isAnswered(response)) return;
  }
  // Node joins the head and a text, and would encode the bytes of a warning a second time.
  if (typeof payload === 'string' && (size > encodedBytes || context.warnings.length > 0))
    payload = Buffer.from(payload);
  if (size > uncountedBytes) {
    context.bytes.raiseTo(size);
    // The objects behind the payload are no longer needed.
    context.bytes.lowerTo(size);
  }
  beginAnswer(context, status, headers);
  if (bodiless || request.method === 'HEAD') response.end();
  else response.end(payload);
}

/**
 * Sets status, warnings and headers. A `Vary` is added to the present one, any other header replaces it. After a 429
 * the requests that wait on the same connection are dropped: most would be refused too, at the same cost.
 */
export function beginAnswer(context: RequestContext, status: number, headers: AnswerHeaders | undefined): void {
  const { response, warnings } = context;
  response.statusCode = status;
  if (status === 429) context.dropPipelined();
  if (warnings.length > 0) response.setHeader('Warning', warningHeaders(warnings));
  if (headers === undefined) return;
  for (const name of Object.keys(headers)) {
    const value = headers[name]!;
    if (name.toLowerCase() === 'vary') response.appendHeader(name, value);
    else response.setHeader(name, value);
  }
}

/** True if the answer has ended or the client is gone. */
export function isAnswered(response: ServerResponse): boolean {
  return response.writableEnded || response.destroyed;
}
