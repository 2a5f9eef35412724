import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from '#pkg/http/index';

export interface SameSiteOptions {
  proxies: Pick<TrustedProxies, 'originOf'>;
  /** Pages that may act for their visitor although they are elsewhere: those of `svc.http.cors.allowed-origins`. */
  allowedOrigins: ReadonlySet<string>;
}

/**
 * Does a page of this host ask? Every browser says so with a request that changes something: by Origin, or at least by Sec-Fetch-Site. Another port is
 * the same host, as cookies have it: the pages of the access service are there. A page without TLS does not speak for one with it.
 */
export function isSameSite(request: IncomingMessage, { proxies, allowedOrigins }: SameSiteOptions): boolean {
  const { origin } = request.headers;
  if (origin !== undefined && allowedOrigins.has(origin)) return true;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'same-site') return false;
  if (origin === undefined) return site !== undefined;
  if (!URL.canParse(origin)) return false;
  const own = new URL(proxies.originOf(request));
  const asking = new URL(origin);
  return asking.hostname === own.hostname && (asking.protocol === 'https:' || (asking.protocol === 'http:' && own.protocol === 'http:'));
}
