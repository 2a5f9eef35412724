import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import type { WebSocketConnection } from '../request/web-socket-upgrade.ts';

/** A client needs none: the server sends pings. */
const maxPingsPerSecond = 100;

const closePolicy = 1008;

export interface ServerWebSocketOptions {
  webSocket: WebSocket;
  socket: Socket;
  /** Called when the client has broken a rule. */
  onRefused: () => void;
}

export class ServerWebSocket implements WebSocketConnection {
  readonly #webSocket: WebSocket;
  readonly #socket: Socket;
  readonly #onRefused: () => void;
  #pings = 0;
  #pingsSince = 0;

  constructor({ webSocket, socket, onRefused }: ServerWebSocketOptions) {
    this.#webSocket = webSocket;
    this.#socket = socket;
    this.#onRefused = onRefused;
    webSocket.on('message', () => this.#refuse('a watch takes no messages'));
    webSocket.on('ping', () => this.#countPing());
    // A frame that is not legal: the library has sent the close frame.
    webSocket.on('error', onRefused);
  }

  get isClosing(): boolean {
    return this.#webSocket.readyState !== this.#webSocket.OPEN;
  }

  get unread(): number {
    return this.#socket.writableLength;
  }

  get needsDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  send(text: Buffer): void {
    if (!this.isClosing) this.#webSocket.send(text, { binary: false });
  }

  ping(): void {
    if (!this.isClosing) this.#webSocket.ping();
  }

  close(code: number, reason: string): void {
    if (!this.isClosing) this.#webSocket.close(code, reason);
  }

  destroy(): void {
    this.#webSocket.terminate();
  }

  onDrain(listener: () => void): void {
    this.#socket.on('drain', listener);
  }

  offDrain(listener: () => void): void {
    this.#socket.off('drain', listener);
  }

  #countPing(): void {
    const now = performance.now();
    if (now - this.#pingsSince > 1000) [this.#pings, this.#pingsSince] = [0, now];
    this.#pings += 1;
    if (this.#pings > maxPingsPerSecond) this.#refuse('too many pings');
  }

  #refuse(reason: string): void {
    if (this.isClosing) return;
    this.close(closePolicy, reason);
    this.#onRefused();
  }
}
