/** A request that asks for a WebSocket, until it is answered: as any other request, or by `accept`. */
export interface WebSocketUpgrade {
  /** Was the credential of the request sent as a subprotocol? The page of a browser can do that. */
  readonly hasTokenProtocol: boolean;
  /**
   * Answers 101 with the headers that are set on the response. Undefined if the client is gone. `onRefused` is called
   * when the client breaks the rules of `WebSocketConnection`: the connection is closing then.
   */
  accept(onRefused: () => void): WebSocketConnection | undefined;
}

/**
 * A WebSocket on which the server sends and the client listens. A client that sends a message, a frame that is not
 * legal, or too many pings is refused. Close frames and pings are answered.
 */
export interface WebSocketConnection {
  /** Bytes that the client has not read, as far as they are not in the buffers of the system. */
  readonly unread: number;
  /** Should the sender wait for `onDrain`? */
  readonly needsDrain: boolean;
  /** Bytes received from the client so far. */
  readonly bytesRead: number;
  /** Sends a text message, in UTF-8. Does nothing once the connection is closing. */
  send(text: Buffer): void;
  ping(): void;
  /** Starts the closing handshake after all that was sent. Call `destroy` if the client does not complete it. */
  close(code: number, reason: string): void;
  destroy(): void;
  onDrain(listener: () => void): void;
  offDrain(listener: () => void): void;
}
