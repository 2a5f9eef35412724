import { connect, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import { ChunkedDecoder } from './chunked-decoder.ts';

export interface Answer {
  status: number;
  body: Buffer;
}

const nothing = Buffer.alloc(0);

/**
 * A keep-alive connection with one request at a time: a minimal HTTP/1.1 client, so that the server dominates the
 * measurement. Supports Content-Length and chunked bodies; no HEAD, 204 or 304.
 */
export class HttpConnection {
  readonly #socket: Socket;
  #rest: Buffer = nothing;
  #status = 0;
  #length = 0;
  #decoder: ChunkedDecoder | undefined;
  #pieces: Buffer[] = [];
  #size = 0;
  #onAnswer: ((answer: Answer) => void) | undefined;
  #onFailure: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (bytes) => this.#take(bytes));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed the connection')));
  }

  /**
   * Uses TLS with `trusted`, the context of the server's authority. Each connection makes a full handshake, without
   * session resumption.
   */
  static open(port: number, trusted?: SecureContext): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const to = { port, host: '127.0.0.1' };
      const socket =
        trusted === undefined
          ? connect({ ...to, noDelay: true })
          : connectTls({ ...to, secureContext: trusted }).setNoDelay(true);
      socket.once('error', reject);
      socket.once(trusted === undefined ? 'connect' : 'secureConnect', () => {
        socket.off('error', reject);
        resolve(new HttpConnection(socket));
      });
    });
  }

  /** Sends a complete request. Uses callbacks, because promises would cost the loader more than the parsing. */
  send(request: string, onAnswer: (answer: Answer) => void, onFailure: (error: Error) => void): void {
    this.#onAnswer = onAnswer;
    this.#onFailure = onFailure;
    this.#socket.write(request);
  }

  request(request: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.send(request, resolve, reject);
    });
  }

  close(): void {
    this.#onFailure = undefined;
    this.#socket.destroy();
  }

  #take(bytes: Buffer): void {
    let body = bytes;
    if (this.#status === 0) {
      const all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
      const end = all.indexOf('\r\n\r\n');
      if (end === -1) {
        this.#rest = all;
        return;
      }
      this.#readHead(all.toString('latin1', 0, end));
      body = all.subarray(end + 4);
    }
    const done =
      this.#decoder === undefined
        ? this.#add(body) >= this.#length
        : this.#decoder.decode(body, (piece) => this.#add(piece));
    if (done) this.#finish();
  }

  #readHead(head: string): void {
    this.#rest = nothing;
    this.#status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#length = Number(length ?? 0);
    if (length === undefined && /\r\ntransfer-encoding: *chunked/i.test(head)) this.#decoder = new ChunkedDecoder();
  }

  #add(piece: Buffer): number {
    this.#pieces.push(piece);
    this.#size += piece.length;
    return this.#size;
  }

  #finish(): void {
    const body = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    const answer = { status: this.#status, body };
    this.#status = 0;
    this.#size = 0;
    this.#pieces = [];
    this.#decoder = undefined;
    this.#onAnswer?.(answer);
  }

  #fail(error: Error): void {
    const onFailure = this.#onFailure;
    this.#onFailure = undefined;
    onFailure?.(error);
  }
}
