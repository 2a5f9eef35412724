import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Answers are held until all before them are sent, so one connection could otherwise pile up any number. */
const maxUnderWay = 16;
/** Of requests that are read and not begun: each takes a few kB that no budget counts. */
const maxWaiting = 256;
/** Whose client reads nothing of its answers for so long may lose its connection to another. Milliseconds. */
const unreadMs = 5000;

/**
 * The unanswered requests of one connection, in their order: at most 16 are served at a time, and while others wait nothing more is read.
 * What was read at once (64 KiB) Node parses to its end, so some wait; a connection on which more than 256 wait is closed.
 */
export class Pipeline {
  private readonly socket: Socket;
  /** Oldest first. */
  private readonly responses = new Set<ServerResponse>();
  private readonly waiting: (() => void)[] = [];
  private underWay = 0;
  /** Since when the newest answer waits to be sent. By `performance.now()`. */
  private waitsSince = 0;
  private isEnding = false;
  private isAdvancing = false;

  /** To be made before the connection's first request. */
  constructor(socket: Socket) {
    this.socket = socket;
    // After Node's own listeners, which close the one response that is being sent.
    socket.once('close', () => process.nextTick(() => this.closeAll()));
    // Node resumes the socket with the end of every request, and whenever a body is read or dropped.
    socket.on('resume', () => this.holdBack());
  }

  /** Requests whose answer is not out, or cannot come out any more; oldest first. */
  get unanswered(): readonly ServerResponse[] {
    return [...this.responses];
  }

  get isIdle(): boolean {
    return this.responses.size === 0;
  }

  /** Have all answers under way ended, and does the newest of them wait for its reader for 5 s? */
  get isUnread(): boolean {
    if (this.underWay === 0 || performance.now() - this.waitsSince < unreadMs) return false;
    let looked = 0;
    for (const { writableEnded } of this.responses) {
      if (!writableEnded) return false;
      looked += 1;
      if (looked === this.underWay) break;
    }
    return true;
  }

  /** To be called when the work of a request is done. */
  noteWorkDone({ writableLength }: ServerResponse): void {
    if (writableLength > 0) this.waitsSince = performance.now();
  }

  /** Calls `serve` at once or in its turn; never, where the connection has ended before. */
  add(response: ServerResponse, serve: () => void): void {
    if (this.isEnding || this.socket.destroyed) return;
    this.responses.add(response);
    response.once('close', () => this.remove(response));
    if (this.underWay < maxUnderWay && this.waiting.length === 0) {
      this.underWay += 1;
      serve();
    } else if (this.waiting.length < maxWaiting) {
      this.waiting.push(serve);
      this.holdBack();
    } else {
      this.socket.destroy();
    }
  }

  /** The connection ends with the answer to the request being served now; those behind it are not served. */
  endAfter(response: ServerResponse): void {
    this.isEnding = true;
    this.waiting.length = 0;
    if (!response.headersSent) response.shouldKeepAlive = false;
  }

  /** The connection ends with its newest answer, unless that has begun already. */
  endAfterLast(): void {
    const last = this.unanswered.at(-1);
    if (last === undefined || last.headersSent) return;
    this.isEnding = true;
    last.shouldKeepAlive = false;
  }

  private remove(response: ServerResponse): void {
    this.responses.delete(response);
    this.underWay -= 1;
    if (this.waiting.length === 0 || this.isAdvancing) return;
    this.isAdvancing = true;
    // Once a turn of the event loop: answered one straight after another they would keep all other connections waiting.
    setImmediate(() => this.advance());
  }

  private advance(): void {
    this.isAdvancing = false;
    if (this.socket.destroyed) return;
    while (this.underWay < maxUnderWay && this.waiting.length > 0) {
      this.underWay += 1;
      this.waiting.shift()!();
    }
    if (this.waiting.length === 0) this.socket.resume();
  }

  private holdBack(): void {
    if (this.waiting.length === 0) return;
    this.socket.pause();
    // By this event Node stops reading; a socket paused since it was last resumed does not emit it again.
    this.socket.emit('pause');
  }

  /** Node tells only the response that is being sent of the connection's end, and leaves those behind it open for ever. */
  private closeAll(): void {
    this.waiting.length = 0;
    for (const response of this.responses) {
      response.destroy();
      response.emit('close');
    }
  }
}
