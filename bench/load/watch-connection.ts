import { connect, type Socket } from 'node:net';
import { ChunkedDecoder } from './chunked-decoder.ts';
import { resourceVersionIn } from './request-plan.ts';

const nothing = Buffer.alloc(0);
/** Every event is longer, every heartbeat shorter. */
const shortestEvent = 20;

/** One watcher: counts events, keeps the last revision, and passes each event to the listener, if any. */
export class WatchConnection {
  events = 0;
  /** By `performance.now()`; Infinity and 0 before the first event. */
  firstEventAt = Infinity;
  lastEventAt = 0;
  isClosed = false;
  onEvent: ((line: Buffer) => void) | undefined;
  readonly #socket: Socket;
  readonly #decoder = new ChunkedDecoder();
  readonly #onOpen: (failure?: Error) => void;
  #rest: Buffer = nothing;
  #lastLine: Buffer = nothing;
  #hasHead = false;

  /** `path` has the start revision. Resolves when the response has started. */
  static open({
    port,
    path,
    authorization,
  }: {
    port: number;
    path: string;
    authorization: string;
  }): Promise<WatchConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1' });
      const watcher: WatchConnection = new WatchConnection(socket, (failure) =>
        failure === undefined ? resolve(watcher) : reject(failure),
      );
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n\r\n`);
    });
  }

  private constructor(socket: Socket, onOpen: (failure?: Error) => void) {
    this.#socket = socket;
    this.#onOpen = onOpen;
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('error', (error) => onOpen(error));
    socket.on('close', () => {
      this.isClosed = true;
      onOpen(new Error('the watch was closed'));
    });
  }

  /** The revision of the last event; 0 before the first. */
  get lastRevision(): number {
    return Number(resourceVersionIn(this.#lastLine));
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    if (this.#hasHead) {
      this.#decoder.decode(bytes, this.#split);
      return;
    }
    const all = Buffer.concat([this.#rest, bytes]);
    const end = all.indexOf('\r\n\r\n');
    this.#rest = end === -1 ? all : nothing;
    if (end === -1) return;
    this.#hasHead = true;
    const status = all.toString('latin1', 9, 12);
    this.#onOpen(status === '200' ? undefined : new Error(`the watch was refused: ${all.toString()}`));
    this.#decoder.decode(all.subarray(end + 4), this.#split);
  }

  readonly #split = (piece: Buffer): void => {
    const all = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    let at = 0;
    for (let end = all.indexOf(10); end !== -1; end = all.indexOf(10, at)) {
      if (end - at > shortestEvent) this.#event(all.subarray(at, end));
      at = end + 1;
    }
    this.#rest = all.subarray(at);
  };

  #event(line: Buffer): void {
    this.events += 1;
    this.lastEventAt = performance.now();
    this.firstEventAt = Math.min(this.firstEventAt, this.lastEventAt);
    this.#lastLine = line;
    this.onEvent?.(line);
  }
}
