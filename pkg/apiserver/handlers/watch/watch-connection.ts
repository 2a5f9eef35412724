import {
  formatApiVersion,
  initialEventsEndAnnotation,
  newServiceUnavailable,
  type GroupVersionKind,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { RequestContext } from '#pkg/http/index';
import type { WatchObserver } from '../../informer-bus/watch-observer.ts';
import type { Representation, SharedRepresentation, WatchSink, WatchStream } from '../../rest/served-resource.ts';
import { shownText } from '../answer/answer-format.ts';
import type { WatchTiming } from '../options/watch-timing.ts';
import type { WatchFormat } from './watch-format.ts';
import { WatchWriter, type WrittenWatch } from './watch-writer.ts';

export interface WatchConnectionOptions {
  context: RequestContext;
  kind: GroupVersionKind;
  format: WatchFormat;
  bookmarks: boolean;
  durationMs: number;
  timing: WatchTiming;
  observer: WatchObserver;
  /** The answer that carries it. Default: one of its own, which ends with it. */
  carrier?: WatchCarrier | undefined;
}

/** The answer that carries a watch among others. */
export interface WatchCarrier {
  writer: WatchWriter;
  /** The line of the answer for a line of the watch. */
  lineOf(line: Buffer): Buffer;
  /** Called once, when the client is told that the watch has begun. */
  onAccepted(): void;
  /** Called once the changes follow, after what existed before. */
  onFollowing(): void;
}

/**
 * One watch of a client: writes events as they arrive, and ends in time. For any cause of the end, `ended` resolves
 * once.
 */
export class WatchConnection implements WatchSink, WrittenWatch {
  readonly ended: Promise<void>;
  readonly #options: WatchConnectionOptions;
  readonly #writer: WatchWriter;
  #leave = (): void => undefined;
  /** The format of the next event. */
  #format: WatchFormat;
  #bookmarks: NodeJS.Timeout | undefined;
  #markEnded!: () => void;
  #hasBegun = false;
  #isOver = false;
  #isDisposed = false;
  #stream: WatchStream | undefined;
  #resume: (() => void) | undefined;

  constructor(options: WatchConnectionOptions) {
    this.#options = options;
    this.#format = options.format;
    options.observer.began();
    this.ended = new Promise((resolve) => {
      this.#markEnded = resolve;
    });
    this.#writer = options.carrier?.writer ?? new WatchWriter(options);
    this.#leave = this.#writer.join(this);
  }

  get over(): boolean {
    return this.#isOver;
  }

  /** Tells the client that the watch has begun. Idempotent. */
  begin(): void {
    this.#writer.begin();
    if (!this.#hasBegun) this.#options.carrier?.onAccepted();
    this.#hasBegun = true;
  }

  /** Initial objects, at the client's pace. */
  async writeObjects(objects: readonly Representation[]): Promise<void> {
    for (const object of objects) {
      if (this.#isOver) return;
      const format = this.#nextFormat();
      this.#writer.writeAtPace(this.#lineOf(format.event('ADDED', object.revision, shownText(object, format))));
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
    const { context, carrier, timing } = this.#options;
    context.bytes.lowerTo(0);
    this.#writer.countUnread();
    carrier?.onFollowing();
    if (!this.#hasBookmarks || this.#isOver) return;
    this.#bookmarks = setInterval(() => this.bookmark(stream.cursor), timing.bookmarkMs);
    // Where others write too, nothing else tells that this one has begun.
    if (carrier !== undefined) this.bookmark(stream.cursor);
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

  /** The model was removed or has changed: the client must watch again. */
  end(reason: string): void {
    if (this.#options.carrier === undefined) return this.close();
    this.beforeEnd();
    this.fail(newServiceUnavailable(`${reason}: watch again from the last revision`));
  }

  /** Sends the error that ends the watch, and ends it. */
  fail(error: StatusError): void {
    if (this.#isOver) return;
    this.#write(this.#options.format.error(error.toStatus()));
    this.#finish();
  }

  /** A planned end, after a last bookmark. */
  close(): void {
    this.beforeEnd();
    this.#finish();
  }

  beforeEnd(): void {
    if (this.#stream !== undefined && this.#hasBookmarks) this.bookmark(this.#stream.cursor);
  }

  abandon(): void {
    this.#settle();
  }

  resume(): void {
    this.#resume?.();
  }

  /** Idempotent. Always call it at the end. */
  dispose(): void {
    this.#settle();
    if (!this.#isDisposed) this.#options.observer.ended(this.#writer.isSlow ? 'slow' : 'over');
    this.#isDisposed = true;
    if (this.#options.carrier === undefined) this.#writer.dispose();
  }

  /** Resolves when the client has read everything written, or the watch is over. */
  async drained(): Promise<void> {
    while (!this.#isOver && this.#writer.needsDrain) {
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    }
  }

  get #hasBookmarks(): boolean {
    const { bookmarks, format } = this.#options;
    return bookmarks || format.isEventStream;
  }

  #nextFormat(): WatchFormat {
    const format = this.#format;
    this.#format = format.afterFirst ?? format;
    return format;
  }

  #write(line: Buffer): void {
    this.begin();
    this.#writer.write(this.#lineOf(line), { isReplay: this.#stream === undefined });
  }

  #lineOf(line: Buffer): Buffer {
    return this.#options.carrier?.lineOf(line) ?? line;
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#settle();
    if (this.#options.carrier === undefined) this.#writer.end();
  }

  #settle(): void {
    this.#isOver = true;
    clearInterval(this.#bookmarks);
    this.#leave();
    this.#markEnded();
    this.#resume?.();
  }
}
