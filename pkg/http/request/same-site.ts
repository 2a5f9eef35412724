import type { IncomingMessage } from 'node:http';
import type { ServiceUrl } from '../connection/service-url.ts';

export interface SameSiteOptions {
  url: Pick<ServiceUrl, 'ownOrigins'>;
  /** Other origins whose pages may act for their visitor: `svc.http.cors.allowed-origins`. */
  allowedOrigins: ReadonlySet<string>;
}

/**
 * Was the request sent by a page of this host? Browsers send Origin, or at least Sec-Fetch-Site, with every request
 * that changes something. Another port is the same host, as for cookies: the access service's pages are there. A page
 * without TLS may not act on a service with TLS.
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

/**
 * Was the request sent by a page of another site? A request that changes something and has neither header is not from a
 * browser.
 */
export function isCrossSite(request: IncomingMessage, options: SameSiteOptions): boolean {
  const { headers } = request;
  return (headers.origin !== undefined || headers['sec-fetch-site'] !== undefined) && !isSameSite(request, options);
}
