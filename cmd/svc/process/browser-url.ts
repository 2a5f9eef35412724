import type { AddressInfo } from 'node:net';

/** The URL to open in a browser for a server on this host. */
export function urlOf(host: string, { port }: Pick<AddressInfo, 'port'>, scheme: 'http' | 'https' = 'http'): string {
  return `${scheme}://${browsableHost(host)}:${port}`;
}

function browsableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
