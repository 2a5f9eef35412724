import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * While more requests than these wait, nothing more is read. So many are read ahead because the end of a connection is
 * heard only while it is read.
 */
const maxReadAhead = 16;
/**
 * Of requests that are read and not begun: each takes a few kB, and the last one up to 64 KiB of its body, which no
 * budget counts.
 */
const maxWaiting = 256;
/** Whose client reads nothing of its answers for so long may lose its connection to another. Milliseconds. */
const unreadMs = 5000;

interface Waiting {
  response: ServerResponse;
  serve: () => void;
}

/**
 * The unanswered requests of one connection, in their order: one is served at a time, and while more than 16 wait
 * nothing more is read. What was read at once (64 KiB) Node parses to its end, so more may wait; a connection on which
 * more than 256 do is closed.
 */
export class Pipeline {
  private readonly socket: Socket;
  /** Until its answer is out, or cannot come out any more. */
  private served: ServerResponse | undefined;
  /** Since when that answer waits to be sent. By `performance.now()`. */
  private waitsSince = 0;
  /** Oldest first. */
  private readonly waiting: Waiting[] = [];
  private isEnding = false;

  /** To be made before the connection's first request. */
  constructor(socket: Socket) {
    this.socket = socket;
    // Node resumes the socket with the end of every request, and whenever a body is read or dropped.
    socket.on('resume', () => this.holdBack());
  }

  /** Oldest first. */
  get unanswered(): readonly ServerResponse[] {
    return [...(this.served === undefined ? [] : [this.served]), ...this.waiting.map(({ response }) => response)];
  }

  get isIdle(): boolean {
    return this.served === undefined && this.waiting.length === 0;
  }

  /** Has the answer to the request being served ended, and waits for its reader for 5 s? */
  get isUnread(): boolean {
    return this.served?.writableEnded === true && performance.now() - this.waitsSince >= unreadMs;
  }

  /** To be called when the work of a request is done. */
  noteWorkDone({ writableLength }: ServerResponse): void {
    if (writableLength > 0) this.waitsSince = performance.now();
  }

  /** Calls `serve` at once or in its turn; never, where the connection has ended before. */
  add(response: ServerResponse, serve: () => void): void {
    if (this.isEnding || this.socket.destroyed) return;
    if (this.isIdle) {
      this.serve({ response, serve });
    } else if (this.waiting.length < maxWaiting) {
      this.waiting.push({ response, serve });
      this.holdBack();
    } else {
      this.socket.destroy();
    }
  }

  /** The connection ends with the answer to the request being served; those behind it are not served. */
  endAfterServed(): void {
    this.isEnding = true;
    this.waiting.length = 0;
    if (this.served?.headersSent === false) this.served.shouldKeepAlive = false;
  }

  /** The same, unless nothing waits behind it. */
  dropWaiting(): void {
    if (this.waiting.length > 0) this.endAfterServed();
  }

  /** The newest request, which waits, is not served, and no other behind it. */
  dropLast(): void {
    this.isEnding = true;
    this.waiting.pop();
  }

  /** The connection ends with its newest answer, unless that has begun already. */
  endAfterLast(): void {
    const last = this.unanswered.at(-1);
    if (last === undefined || last.headersSent) return;
    this.isEnding = true;
    last.shouldKeepAlive = false;
  }

  private serve({ response, serve }: Waiting): void {
    this.served = response;
    response.once('close', () => this.release());
    serve();
  }

  private release(): void {
    this.served = undefined;
    if (this.waiting.length === 0) return;
    // Once a turn of the event loop: answered one straight after another they would keep all other connections waiting.
    setImmediate(() => this.advance());
  }

  private advance(): void {
    if (this.socket.destroyed) return;
    const isHeld = this.waiting.length > maxReadAhead;
    const next = this.waiting.shift();
    if (next !== undefined) this.serve(next);
    // Where it was Node that stopped reading, a body that nobody reads yet would be taken in.
    if (isHeld && this.waiting.length <= maxReadAhead) this.socket.resume();
  }

  private holdBack(): void {
    if (this.waiting.length <= maxReadAhead) return;
    this.socket.pause();
    // By this event Node stops reading; a socket paused since it was last resumed does not emit it again.
    this.socket.emit('pause');
  }
}
