/** One request as it is sent. */
export interface WireRequest {
  method: string;
  /** Sent unchanged, one byte for each character. */
  target: string;
  /** Host, Authorization and Content-Length are added unless they are here. */
  headers: [name: string, value: string][];
  body?: Buffer;
  /** Adds no Authorization header. */
  isAnonymous?: boolean;
  /** Bytes instead of all of the above, on a separate connection; `$TOKEN` is replaced by the token. */
  raw?: readonly Buffer[];
  /**
   * What follows raw bytes. `close`: closes the sending side once the server is quiet. `wait`: nothing, so that the
   * server must end the connection. `first answer`: nothing after the first response. Default `close`.
   */
  ending?: 'close' | 'wait' | 'first answer';
  /**
   * The response may not end by itself: reads its start, then closes the connection. With raw bytes: closes the sending
   * side when the server is quiet after it has begun to answer.
   */
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
