/** One request as it is to go over the wire. */
export interface WireRequest {
  method: string;
  /** Written as it stands, byte for character. */
  target: string;
  /** Without Host, Authorization and Content-Length, which are added where they are not among these. */
  headers: [name: string, value: string][];
  body?: Buffer;
  /** No Authorization is added. */
  isAnonymous?: boolean;
  /** Bytes instead of all of the above, on a connection of their own; `$TOKEN` in them is the token. */
  raw?: readonly Buffer[];
  /**
   * What comes after raw bytes: the end of the sending side, once the server is quiet; nothing, so that the server must
   * end it; nothing after the first answer. Default `close`.
   */
  ending?: 'close' | 'wait' | 'first answer';
  /** An answer that may not end by itself: its beginning is read, then the connection closed. */
  stream?: boolean;
}

export function get(target: string, headers: WireRequest['headers'] = []): WireRequest {
  return { method: 'GET', target, headers };
}

export function json(
  method: string,
  target: string,
  body: string | Buffer | object,
  headers: WireRequest['headers'] = [],
): WireRequest {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { method, target, headers: [['Content-Type', 'application/json'], ...headers], body: bytes };
}
