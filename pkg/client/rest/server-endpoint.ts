import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';

/** The credentials of a request. */
export interface Credentials {
  headers: Readonly<Record<string, string | string[]>>;
  tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'>;
  /** Replaces the client's own agent, for a proxy. */
  agent?: Agent;
}

/** A server with the credentials for it. */
export interface ServerEndpoint {
  /** May have a path, which prefixes the API's paths. */
  readonly url: URL;
  credentials(): Promise<Credentials>;
  /** The server refused the last credentials: the next request must use others, if there are any. */
  credentialsRefused(): void;
}

/** A fixed token; a function for the certificate authority is called for each request. */
export function fixedEndpoint(
  url: string,
  token: string | undefined,
  ca: string | (() => string) | undefined,
): ServerEndpoint {
  const headers: Credentials['headers'] = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const credentials = async (): Promise<Credentials> => ({
    headers,
    tls: ca === undefined ? {} : { ca: typeof ca === 'string' ? ca : ca() },
  });
  return { url: parseServerUrl(url), credentials, credentialsRefused: () => undefined };
}

/** @throws TypeError for an invalid server URL */
export function parseServerUrl(text: string): URL {
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('the URL of a server begins with http:// or https://');
  return url;
}
