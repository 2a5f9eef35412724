import {
  formatApiVersion,
  initialEventsEndAnnotation,
  type GroupVersionKind,
  type StatusError,
} from '#pkg/apimachinery/index';
import { uncountedBytes, type RequestContext } from '#pkg/http/index';
import type { WatchObserver } from '../../informer-bus/watch-observer.ts';
import type { Representation, SharedRepresentation, WatchSink, WatchStream } from '../../rest/served-resource.ts';
import { shownText } from '../answer/answer-format.ts';
import type { WatchFormat } from './watch-format.ts';
import type { WatchTiming } from '../options/watch-timing.ts';
import { StreamOutput } from './stream-output.ts';
import type { WatchEnd, WatchOutput } from './watch-output.ts';
import { WebSocketOutput } from './web-socket-output.ts';

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
  readonly #output: WatchOutput;
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
    const { context, format, durationMs, timing } = options;
    this.#output =
      context.webSocket === undefined
        ? new StreamOutput(context, format)
        : new WebSocketOutput(context, { onRefused: () => this.#finish('over') });
    this.#timers.push(setTimeout(this.close, durationMs));
    this.#timers.push(setInterval(this.#beat, timing.heartbeatMs));
    context.draining.addEventListener('abort', this.#leave, { once: true });
    context.signal.addEventListener('abort', this.#abandon, { once: true });
    this.#output.onDrain(this.#onDrain);
    if (context.signal.aborted) this.#abandon();
    else if (context.draining.aborted) this.#leave();
  }

  get over(): boolean {
    return this.#isOver;
  }

  /** Sends the response headers, so that the client knows that the watch has begun. Idempotent. */
  begin(): void {
    if (!this.#options.context.response.headersSent) this.#output.begin();
  }

  /** Initial objects, at the client's pace. */
  async writeObjects(objects: readonly Representation[]): Promise<void> {
    for (const object of objects) {
      if (this.#isOver) return;
      this.#isSilent = false;
      const format = this.#nextFormat();
      this.#output.write(format.event('ADDED', object.revision, shownText(object, format)));
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
    const { bookmarks, format, timing } = this.#options;
    this.#count(this.#output.unread);
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
    this.#finish('over');
  }

  /** A planned end, after a last bookmark. */
  readonly close = (): void => this.#close('over');

  readonly #leave = (): void => this.#close('shutdown');

  #close(end: WatchEnd): void {
    const { bookmarks, format } = this.#options;
    if (this.#stream !== undefined && (bookmarks || format.isEventStream)) this.bookmark(this.#stream.cursor);
    this.#finish(end);
  }

  /** Idempotent. Always call it at the end. */
  dispose(): void {
    this.#settle();
    if (!this.#isDisposed) this.#options.observer.ended(this.#isSlow ? 'slow' : 'over');
    this.#isDisposed = true;
    const { context } = this.#options;
    context.draining.removeEventListener('abort', this.#leave);
    context.signal.removeEventListener('abort', this.#abandon);
    this.#output.offDrain(this.#onDrain);
  }

  /** Resolves when the client has read everything written, or the watch is over. */
  async drained(): Promise<void> {
    while (!this.#isOver && this.#output.needsDrain) {
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
    this.#isSilent = false;
    const before = this.#output.unread;
    // Checked before the write, so that one event larger than the limit is still sent.
    if (before > this.#options.timing.bufferLimit) this.#cutOff();
    else if (before + bytes.length <= uncountedBytes || this.#stream === undefined) this.#output.write(bytes);
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
    this.#finish('slow');
  }

  #finish(end: WatchEnd): void {
    if (this.#isOver) return;
    this.#settle();
    const { context, timing } = this.#options;
    this.begin();
    this.#output.end(end);
    const grace = setTimeout(() => this.#output.destroy(), timing.closeGraceMs);
    context.response.once('close', () => clearTimeout(grace));
  }

  readonly #abandon = (): void => {
    this.#settle();
    this.#output.destroy();
  };

  #settle(): void {
    this.#isOver = true;
    for (const timer of this.#timers.splice(0)) clearTimeout(timer);
    this.#markEnded();
    this.#resume?.();
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
    this.#resume?.();
  };
}
