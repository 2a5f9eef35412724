import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';

/** What a request carries to be let in. */
export interface Credentials {
  headers: Readonly<Record<string, string | string[]>>;
  tls: Pick<RequestOptions, 'ca' | 'cert' | 'key' | 'pfx' | 'passphrase' | 'rejectUnauthorized' | 'servername'>;
  /** In place of the client's own, where the way leads through a proxy. */
  agent?: Agent;
}

/** A server, and how it is asked. */
export interface Endpoint {
  /** May have a path, below which the API is. */
  readonly url: URL;
  credentials(): Promise<Credentials>;
  /** The server did not accept the last ones: the next request comes with others, if there are any. */
  refused(): void;
}

/** One token for all time; a function's authority is asked for at each request. */
export function fixedEndpoint(
  url: string,
  token: string | undefined,
  ca: string | (() => string) | undefined,
): Endpoint {
  const headers: Credentials['headers'] = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const credentials = async (): Promise<Credentials> => ({
    headers,
    tls: ca === undefined ? {} : { ca: typeof ca === 'string' ? ca : ca() },
  });
  return { url: parseServerUrl(url), credentials, refused: () => undefined };
}

/** @throws TypeError for what is no URL of a server */
export function parseServerUrl(text: string): URL {
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new TypeError('a server is reached by http or https');
  return url;
}
