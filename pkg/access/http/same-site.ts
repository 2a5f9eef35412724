import type { IncomingMessage } from 'node:http';
import type { ServiceUrl } from '#pkg/http/index';

export interface SameSiteOptions {
  url: Pick<ServiceUrl, 'ownOrigins'>;
  /** Pages that may act for their visitor although they are elsewhere: those of `svc.http.cors.allowed-origins`. */
  allowedOrigins: ReadonlySet<string>;
}

/**
 * Does a page of this host ask? Every browser says so with a request that changes something: by Origin, or at least by
 * Sec-Fetch-Site. Another port is the same host, as cookies have it: the pages of the access service are there. A page
 * without TLS does not speak for one with it.
 */
export function isSameSite(request: IncomingMessage, { url, allowedOrigins }: SameSiteOptions): boolean {
  const { origin } = request.headers;
  if (origin !== undefined && allowedOrigins.has(origin)) return true;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'same-site') return false;
  if (origin === undefined) return site !== undefined;
  if (!URL.canParse(origin)) return false;
  const asking = new URL(origin);
  const isOf = (own: URL): boolean =>
    asking.hostname === own.hostname &&
    (asking.protocol === 'https:' || (asking.protocol === 'http:' && own.protocol === 'http:'));
  return url.ownOrigins(request).some((own) => isOf(new URL(own)));
}

/** Does a page elsewhere ask? A request that changes something and has neither header is of no browser. */
export function isFromElsewhere(request: IncomingMessage, options: SameSiteOptions): boolean {
  const { headers } = request;
  return (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) && !isSameSite(request, options);
}
