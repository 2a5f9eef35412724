import type { IncomingMessage } from 'node:http';
import { newBadRequest, StatusError } from '#pkg/apimachinery/index';

export interface RequestLimits {
  /** Default 64 KiB; longer is 414. */
  urlBytes: number;
  /** Sum of names and values; default 32 KiB; more is 431. */
  headerBytes: number;
  /** Default 256; more is 431. */
  headerCount: number;
}

/**
 * Refuses requests that are malformed whatever their path: exceeded limits, and headers that two readers could read
 * differently. Node keeps only the first of several Authorization headers; a proxy in front may have checked the last.
 */
export function checkRequest(request: IncomingMessage, limits: RequestLimits): StatusError | undefined {
  const { rawHeaders, headers } = request;
  if ((request.url ?? '').length > limits.urlBytes)
    return new StatusError(414, 'BadRequest', `the URL is longer than ${limits.urlBytes} bytes`);
  if (rawHeaders.length / 2 > limits.headerCount) return newHeadersTooLarge();
  let size = 0;
  let hosts = 0;
  let authorizations = 0;
  let lengths = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    size += name.length + rawHeaders[i + 1]!.length;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    else if (name.length === 13 && name.toLowerCase() === 'authorization') authorizations += 1;
    else if (name.length === 14 && name.toLowerCase() === 'content-length') lengths += 1;
  }
  if (size > limits.headerBytes) return newHeadersTooLarge();
  const coding = headers['transfer-encoding'];
  // Node treats `gzip, chunked` as chunked, and would pass on the compressed bytes as the body. A client's mistake is
  // no 501 here.
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return newBadRequest('the only Transfer-Encoding that is understood is "chunked"');
  if (hosts > 1 || lengths > 1) return newBadRequest(sentOnce);
  if (authorizations > 1) return new RepeatedAuthorizationError();
  if (hosts === 0 && request.httpVersion === '1.1') return newBadRequest('the Host header is missing');
  return undefined;
}

const sentOnce = 'Host, Authorization and Content-Length may be sent once only';

/** A server that answers wrong credentials in its own way may answer this one so. */
export class RepeatedAuthorizationError extends StatusError {
  constructor() {
    super(400, 'BadRequest', sentOnce);
  }
}

export function newHeadersTooLarge(): StatusError {
  return new StatusError(431, 'BadRequest', 'the headers of the request are too large');
}
