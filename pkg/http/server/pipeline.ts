import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Reading pauses while more requests than this wait. So many are read ahead because the end of a connection is noticed
 * only while it is read.
 */
const maxReadAhead = 16;
/**
 * Limit of requests that are read but not begun: each takes a few kB, and the last up to 64 KiB of its body, which no
 * budget counts.
 */
const maxWaiting = 256;
/** A connection whose client reads no answer for this long may be closed for another. Milliseconds. */
const unreadMs = 5000;

interface Waiting {
  response: ServerResponse;
  serve: () => void;
}

/**
 * The unanswered requests of one connection, in order: one is served at a time, and reading pauses while more than 16
 * wait. Node parses all that it has read at once (64 KiB), so more may wait; with more than 256 the connection is
 * closed.
 */
export class Pipeline {
  readonly #socket: Socket;
  /** Set until its answer is sent or the connection has closed. */
  #served: ServerResponse | undefined;
  /** Since when that answer waits to be read. By `performance.now()`. */
  #waitsSince = 0;
  /** Oldest first. */
  readonly #waiting: Waiting[] = [];
  #isEnding = false;

  /** Create it before the connection's first request. */
  constructor(socket: Socket) {
    this.#socket = socket;
    // Node resumes the socket at the end of every request, and whenever a body is read or dropped.
    socket.on('resume', () => this.#holdBack());
  }

  /** Oldest first. */
  get unanswered(): readonly ServerResponse[] {
    return [...(this.#served === undefined ? [] : [this.#served]), ...this.#waiting.map(({ response }) => response)];
  }

  get isIdle(): boolean {
    return this.#served === undefined && this.#waiting.length === 0;
  }

  /** Whether the answer to the request being served has ended and has waited for its reader for 5 s. */
  get isUnread(): boolean {
    return this.#served?.writableEnded === true && performance.now() - this.#waitsSince >= unreadMs;
  }

  /** Call when the work of a request is done. */
  noteWorkDone({ writableLength }: ServerResponse): void {
    if (writableLength > 0) this.#waitsSince = performance.now();
  }

  /** Calls `serve` now or in its turn; never if the connection has ended. */
  add(response: ServerResponse, serve: () => void): void {
    if (this.#isEnding || this.#socket.destroyed) return;
    if (this.isIdle) {
      this.#serve({ response, serve });
    } else if (this.#waiting.length < maxWaiting) {
      this.#waiting.push({ response, serve });
      this.#holdBack();
    } else {
      this.#socket.destroy();
    }
  }

  /** Closes the connection after the answer to the request being served; those behind it are dropped. */
  endAfterServed(): void {
    this.#isEnding = true;
    this.#waiting.length = 0;
    if (this.#served?.headersSent === false) this.#served.shouldKeepAlive = false;
  }

  /** The same, if requests wait behind it. */
  dropWaiting(): void {
    if (this.#waiting.length > 0) this.endAfterServed();
  }

  /** Drops the newest request, which waits, and refuses further ones. */
  dropLast(): void {
    this.#isEnding = true;
    this.#waiting.pop();
  }

  /** Closes the connection after its newest answer, unless that has begun already. */
  endAfterLast(): void {
    const last = this.unanswered.at(-1);
    if (last === undefined || last.headersSent) return;
    this.#isEnding = true;
    last.shouldKeepAlive = false;
  }

  #serve({ response, serve }: Waiting): void {
    this.#served = response;
    response.once('close', () => this.#release());
    serve();
  }

  #release(): void {
    this.#served = undefined;
    if (this.#waiting.length === 0) return;
    // One per turn of the event loop: serving them one straight after another would block all other connections.
    setImmediate(() => this.#advance());
  }

  #advance(): void {
    if (this.#socket.destroyed) return;
    const isHeld = this.#waiting.length > maxReadAhead;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#serve(next);
    // Only if this class stopped reading: otherwise an unread body would be taken in.
    if (isHeld && this.#waiting.length <= maxReadAhead) this.#socket.resume();
  }

  #holdBack(): void {
    if (this.#waiting.length <= maxReadAhead) return;
    this.#socket.pause();
    // Node stops reading at this event; a socket already paused does not emit it again.
    this.#socket.emit('pause');
  }
}
