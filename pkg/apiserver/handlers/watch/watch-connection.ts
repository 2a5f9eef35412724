import {
  formatApiVersion,
  initialEventsEndAnnotation,
  type GroupVersionKind,
  type StatusError,
} from '#pkg/apimachinery/index';
import { beginAnswer, uncountedBytes, type RequestContext } from '#pkg/http/index';
import type { WatchObserver } from '../../informer-bus/watch-observer.ts';
import type { Representation, SharedRepresentation, WatchSink, WatchStream } from '../../rest/served-resource.ts';
import { shownText } from '../answer/answer-format.ts';
import type { WatchFormat } from './watch-format.ts';
import type { WatchTiming } from '../options/watch-timing.ts';

export interface WatchConnectionOptions {
  context: RequestContext;
  kind: GroupVersionKind;
  format: WatchFormat;
  bookmarks: boolean;
  durationMs: number;
  timing: WatchTiming;
  observer: WatchObserver;
}

/**
 * The connection of one watcher: writes events as they arrive, sends heartbeats, and ends the watch in time.
 *
 * For any cause of the end, `ended` resolves once. The server does not wait for a slow client: it sends that client
 * nothing more, lets it read what was written, so that it can resume from a later revision, and closes the connection
 * after `closeGraceMs`. The same applies to a client whose large unread events exceed the byte budget.
 */
export class WatchConnection implements WatchSink {
  readonly ended: Promise<void>;
  readonly #options: WatchConnectionOptions;
  /** The format of the next event. */
  #format: WatchFormat;
  readonly #timers: NodeJS.Timeout[] = [];
  #markEnded!: () => void;
  #isOver = false;
  #isSilent = true;
  #isSlow = false;
  #isDisposed = false;
  /** Are unread bytes counted in the budget? */
  #isCounted = false;
  #stalledSince: number | undefined;
  #stream: WatchStream | undefined;
  #resume: (() => void) | undefined;

  constructor(options: WatchConnectionOptions) {
    this.#options = options;
    this.#format = options.format;
    options.observer.began();
    this.ended = new Promise((resolve) => {
      this.#markEnded = resolve;
    });
    const { context, durationMs, timing } = options;
    this.#timers.push(setTimeout(this.close, durationMs));
    this.#timers.push(setInterval(this.#beat, timing.heartbeatMs));
    context.draining.addEventListener('abort', this.close, { once: true });
    context.signal.addEventListener('abort', this.#abandon, { once: true });
    context.response.on('drain', this.#onDrain);
    if (context.signal.aborted) this.#abandon();
    else if (context.draining.aborted) this.close();
  }

  get over(): boolean {
    return this.#isOver;
  }

  /** Sends the response headers, so that the client knows that the watch has begun. Idempotent. */
  begin(): void {
    const { context, format } = this.#options;
    if (context.response.headersSent) return;
    // X-Accel-Buffering is for nginx, which would buffer the events otherwise.
    beginAnswer(context, 200, { 'Content-Type': format.contentType, 'X-Accel-Buffering': 'no', Vary: 'Accept' });
    context.response.flushHeaders();
  }

  /** Initial objects, at the client's pace. */
  async writeObjects(objects: readonly Representation[]): Promise<void> {
    const { context } = this.#options;
    for (const object of objects) {
      if (this.#isOver) return;
      this.#isSilent = false;
      const format = this.#nextFormat();
      context.response.write(format.event('ADDED', object.revision, shownText(object, format)));
      this.#options.observer.sent();
      await this.drained();
    }
  }

  /**
   * From now on bookmarks report the cursor of `stream`, and the budget counts the client's unread bytes instead of the
   * replayed history.
   */
  follow(stream: WatchStream): void {
    this.#stream = stream;
    const { bookmarks, context, format, timing } = this.#options;
    this.#count(context.response.writableLength);
    if ((bookmarks || format.isEventStream) && !this.#isOver)
      this.#timers.push(setInterval(() => this.bookmark(stream.cursor), timing.bookmarkMs));
  }

  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: SharedRepresentation): void {
    if (this.#isOver) return;
    const format = this.#nextFormat();
    this.#write(
      object.encoded(`${format.name}:${type}`, (made) => format.event(type, object.revision, shownText(made, format))),
    );
    this.#options.observer.sent();
  }

  bookmark(revision: number, { endsInitialEvents = false }: { endsInitialEvents?: boolean } = {}): void {
    if (this.#isOver) return;
    const { format, kind } = this.#options;
    const annotations = endsInitialEvents ? { annotations: { [initialEventsEndAnnotation]: 'true' } } : {};
    const typeMeta = format.isMetadata
      ? { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1' }
      : { kind: kind.kind, apiVersion: formatApiVersion(kind) };
    const object = { ...typeMeta, metadata: { resourceVersion: String(revision), ...annotations } };
    this.#write(this.#nextFormat().event('BOOKMARK', revision, JSON.stringify(object)));
  }

  /** The model was removed or has changed: the client must reconnect. */
  end(): void {
    this.close();
  }

  /** Sends the error that ends the watch, and ends it. */
  fail(error: StatusError): void {
    if (this.#isOver) return;
    this.#write(this.#options.format.error(error.toStatus()));
    this.#finish();
  }

  /** A planned end, after a last bookmark. */
  readonly close = (): void => {
    const { bookmarks, format } = this.#options;
    if (this.#stream !== undefined && (bookmarks || format.isEventStream)) this.bookmark(this.#stream.cursor);
    this.#finish();
  };

  /** Idempotent. Always call it at the end. */
  dispose(): void {
    this.#settle();
    if (!this.#isDisposed) this.#options.observer.ended(this.#isSlow ? 'slow' : 'over');
    this.#isDisposed = true;
    const { context } = this.#options;
    context.draining.removeEventListener('abort', this.close);
    context.signal.removeEventListener('abort', this.#abandon);
    context.response.off('drain', this.#onDrain);
  }

  /** Resolves when the client has read everything written, or the watch is over. */
  async drained(): Promise<void> {
    while (!this.#isOver && this.#options.context.response.writableNeedDrain) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
  }

  #nextFormat(): WatchFormat {
    const format = this.#format;
    this.#format = format.afterFirst ?? format;
    return format;
  }

  #write(bytes: Buffer): void {
    this.begin();
    const { response } = this.#options.context;
    this.#isSilent = false;
    const before = response.writableLength;
    // Checked before the write, so that one event larger than the limit is still sent.
    if (before > this.#options.timing.bufferLimit) this.#cutOff();
    else if (before + bytes.length <= uncountedBytes || this.#stream === undefined) response.write(bytes);
    else this.#writeCounted(bytes, before + bytes.length);
  }

  /** Bytes that the operating system accepts at once do not count as unread. */
  #writeCounted(bytes: Buffer, unread: number): void {
    const { context } = this.#options;
    context.bytes.lowerTo(unread);
    if (!context.bytes.tryAdmit(unread)) {
      this.#cutOff();
      return;
    }
    context.response.write(bytes);
    context.response.socket?.uncork();
    this.#count(context.response.writableLength);
  }

  #count(unread: number): void {
    const { bytes } = this.#options.context;
    this.#isCounted = unread > uncountedBytes;
    if (this.#isCounted) bytes.raiseTo(unread);
    bytes.lowerTo(this.#isCounted ? unread : 0);
  }

  /** The client did not keep up. */
  #cutOff(): void {
    this.#isSlow = true;
    const { context } = this.#options;
    context.log.info(
      { path: context.info.path.slice(0, 1024), user: context.user.name, unread: context.response.writableLength },
      'disconnected a watcher that reads too slowly',
    );
    this.#finish();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#settle();
    const { context, timing } = this.#options;
    this.begin();
    context.response.end();
    const grace = setTimeout(() => context.response.destroy(), timing.closeGraceMs);
    context.response.once('close', () => clearTimeout(grace));
  }

  readonly #abandon = (): void => {
    this.#settle();
    this.#options.context.response.destroy();
  };

  #settle(): void {
    this.#isOver = true;
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    this.#markEnded();
    this.#resume?.();
  }

  readonly #beat = (): void => {
    const { response } = this.#options.context;
    if (response.writableNeedDrain) {
      this.#stalledSince ??= performance.now();
      if (performance.now() - this.#stalledSince >= this.#options.timing.stallMs) this.#cutOff();
    } else if (response.headersSent) {
      if (this.#isSilent) response.write(this.#options.format.heartbeat);
      this.#isSilent = true;
    }
  };

  readonly #onDrain = (): void => {
    this.#stalledSince = undefined;
    if (this.#isCounted) this.#count(0);
    this.#resume?.();
  };
}
