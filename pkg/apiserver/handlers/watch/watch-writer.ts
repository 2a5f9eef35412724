import { uncountedBytes, type RequestContext } from '#pkg/http/index';
import type { WatchTiming } from '../options/watch-timing.ts';
import { StreamOutput } from './stream-output.ts';
import type { WatchFormat } from './watch-format.ts';
import type { WatchEnd, WatchOutput } from './watch-output.ts';
import { WebSocketOutput } from './web-socket-output.ts';

export interface WatchWriterOptions {
  context: RequestContext;
  format: Pick<WatchFormat, 'contentType' | 'heartbeat'>;
  durationMs: number;
  timing: WatchTiming;
}

/** A watch that writes to the client. */
export interface WrittenWatch {
  /** The connection is about to end as planned: the last chance to write. */
  beforeEnd(): void;
  /** Nothing can be written any more. */
  abandon(): void;
  /** The client has read everything. */
  resume(): void;
}

/**
 * Writes what one client gets, of one watch or several: keeps the connection alive, and ends it in time.
 *
 * The server does not wait for a slow client: it sends that client nothing more, lets it read what was written, so that
 * it can resume from a later revision, and closes the connection after `closeGraceMs`. The same applies to a client
 * whose large unread events exceed the byte budget.
 */
export class WatchWriter {
  readonly #options: WatchWriterOptions;
  readonly #output: WatchOutput;
  readonly #watches = new Set<WrittenWatch>();
  readonly #timers: NodeJS.Timeout[] = [];
  #isOver = false;
  #isSilent = true;
  #isSlow = false;
  /** Are unread bytes counted in the budget? */
  #isCounted = false;
  #stalledSince: number | undefined;

  constructor(options: WatchWriterOptions) {
    this.#options = options;
    const { context, format, durationMs, timing } = options;
    this.#output =
      context.webSocket === undefined
        ? new StreamOutput(context, format)
        : new WebSocketOutput(context, { onRefused: () => this.end() });
    this.#timers.push(setTimeout(() => this.#close('over'), durationMs));
    this.#timers.push(setInterval(this.#beat, timing.heartbeatMs));
    context.draining.addEventListener('abort', this.#leave, { once: true });
    context.signal.addEventListener('abort', this.#abandon, { once: true });
    this.#output.onDrain(this.#onDrain);
    if (context.signal.aborted) this.#abandon();
    else if (context.draining.aborted) this.#leave();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Was the client disconnected because it did not keep up? */
  get isSlow(): boolean {
    return this.#isSlow;
  }

  /** Must a sender of initial objects wait until it is resumed? */
  get needsDrain(): boolean {
    return this.#output.needsDrain;
  }

  /** Returns a function that removes the watch. Nothing happens to a watch that joins after the end: it is abandoned. */
  join(watch: WrittenWatch): () => void {
    if (this.#isOver) watch.abandon();
    else this.#watches.add(watch);
    return () => void this.#watches.delete(watch);
  }

  /** Sends the response headers, so that the client knows that the watch has begun. Idempotent. */
  begin(): void {
    if (!this.#options.context.response.headersSent) this.#output.begin();
  }

  /** `isReplay`: the budget counts what was read for it, and not the unread bytes. */
  write(bytes: Buffer, { isReplay = false }: { isReplay?: boolean } = {}): void {
    this.begin();
    this.#isSilent = false;
    const before = this.#output.unread;
    // Checked before the write, so that one event larger than the limit is still sent.
    if (before > this.#options.timing.bufferLimit) this.#cutOff();
    else if (before + bytes.length <= uncountedBytes || isReplay) this.#output.write(bytes);
    else this.#writeCounted(bytes, before + bytes.length);
  }

  /** An initial object: its sender waits while the writer needs a drain. */
  writeAtPace(bytes: Buffer): void {
    this.#isSilent = false;
    this.#output.write(bytes);
  }

  /** From now on the budget counts the unread bytes. */
  countUnread(): void {
    this.#count(this.#output.unread);
  }

  /** Ends the connection once the client has read what was written. Idempotent. */
  end(end: WatchEnd = 'over'): void {
    if (this.#isOver) return;
    this.#settle();
    const { context, timing } = this.#options;
    this.begin();
    this.#output.end(end);
    const grace = setTimeout(() => this.#output.destroy(), timing.closeGraceMs);
    context.response.once('close', () => clearTimeout(grace));
  }

  /** Idempotent. Always call it at the end. */
  dispose(): void {
    this.#settle();
    const { context } = this.#options;
    context.draining.removeEventListener('abort', this.#leave);
    context.signal.removeEventListener('abort', this.#abandon);
    this.#output.offDrain(this.#onDrain);
  }

  readonly #leave = (): void => this.#close('shutdown');

  #close(end: WatchEnd): void {
    for (const watch of this.#watches) watch.beforeEnd();
    this.end(end);
  }

  /** Bytes that the operating system accepts at once do not count as unread. */
  #writeCounted(bytes: Buffer, unread: number): void {
    const { context } = this.#options;
    context.bytes.lowerTo(unread);
    if (!context.bytes.tryAdmit(unread)) {
      this.#cutOff();
      return;
    }
    this.#output.write(bytes);
    this.#output.flush();
    this.#count(this.#output.unread);
  }

  #count(unread: number): void {
    const { bytes } = this.#options.context;
    this.#isCounted = unread > uncountedBytes;
    if (this.#isCounted) bytes.raiseTo(unread);
    bytes.lowerTo(this.#isCounted ? unread : 0);
  }

  /** The client did not keep up, or is gone. */
  #cutOff(): void {
    this.#isSlow = true;
    const { context } = this.#options;
    context.log.info(
      { path: context.info.path.slice(0, 1024), user: context.user.name, unread: this.#output.unread },
      'disconnected a watcher that reads too slowly',
    );
    this.end('slow');
  }

  readonly #abandon = (): void => {
    this.#settle();
    this.#output.destroy();
  };

  #settle(): void {
    this.#isOver = true;
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    for (const watch of this.#watches) watch.abandon();
    this.#watches.clear();
  }

  readonly #beat = (): void => {
    const { context, timing } = this.#options;
    if (this.#output.needsDrain || this.#output.isUnanswered === true) {
      this.#stalledSince ??= performance.now();
      if (performance.now() - this.#stalledSince >= timing.stallMs) return this.#cutOff();
    } else {
      this.#stalledSince = undefined;
    }
    if (this.#output.needsDrain || !context.response.headersSent) return;
    this.#output.beat(this.#isSilent);
    this.#isSilent = true;
  };

  readonly #onDrain = (): void => {
    this.#stalledSince = undefined;
    if (this.#isCounted) this.#count(0);
    for (const watch of this.#watches) watch.resume();
  };
}
