import type { AnyObject, ClientEvent, EventStream, StatusError, Stored } from '#pkg/apimachinery/index';
import { shownText, type ObjectForm } from '../handlers/answer/answer-format.ts';
import type { SharedRepresentation, WatchSink, WatchStream } from '../rest/served-resource.ts';

/** Events that may wait for a reader; above that its stream ends, and it watches again from its last event. */
const maxWaiting = 10_000;
/** Reading history continues when no more events than this wait. */
const lowWater = 1000;
const bookmarkIntervalMs = 60_000;

/** Objects from this size on, in characters, are decoded in separate turns of the event loop. */
const largeText = 100_000;

let lastTurn: Promise<void> = Promise.resolve();

/** Resolves after everything else that is due, and after a turn for each earlier caller. */
function separateTurn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => void setImmediate(resolve)));
  return lastTurn;
}

interface Waiting {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: SharedRepresentation;
}

/** A queue between the bus, which pushes, and one reader, who pulls. */
export class EventQueue<T extends AnyObject> implements WatchSink, EventStream<T> {
  #waiting: Waiting[] = [];
  #head = 0;
  #wake: (() => void) | undefined;
  #relieve: (() => void)[] = [];
  #stream: WatchStream | undefined;
  #lastRevision: number;
  readonly #form: ObjectForm;
  #over = false;
  #error: StatusError | undefined;
  #markFull!: () => void;
  readonly #release: () => void;
  /** Resolves when more history waits than is read at first, or when the stream is over. */
  readonly full: Promise<void>;

  /** `release` is called once, when the stream is over for whatever reason. */
  constructor(after: number, form: ObjectForm, release: () => void) {
    this.#form = form;
    this.#lastRevision = after;
    this.#release = release;
    this.full = new Promise((resolve) => {
      this.#markFull = resolve;
    });
  }

  follow(stream: WatchStream): void {
    this.#stream = stream;
    if (this.#over) stream.stop();
  }

  event(type: Waiting['type'], object: SharedRepresentation): void {
    if (this.#over) return;
    this.#waiting.push({ type, object });
    // Ends without the waiting events: the reader watches again from its last event.
    if (this.#length > maxWaiting) this.close();
    this.#wake?.();
  }

  drained(): Promise<void> {
    if (this.#over || this.#length <= lowWater) return Promise.resolve();
    this.#markFull();
    return new Promise((resolve) => this.#relieve.push(resolve));
  }

  end(): void {
    this.#finish();
  }

  /** The history failed: waiting events are still delivered. */
  fail(error: StatusError): void {
    if (!this.#over) this.#error = error;
    this.#finish();
  }

  close(): void {
    this.#waiting = [];
    this.#head = 0;
    this.#error = undefined;
    this.#finish();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ClientEvent<T>> {
    try {
      for (;;) {
        const next = this.#take();
        if (next !== undefined) {
          this.#lastRevision = next.object.revision;
          const text = shownText(next.object.text(), this.#form);
          // Each of many readers decodes the whole object.
          if (text.length > largeText) await separateTurn();
          yield { type: next.type, object: JSON.parse(text) as Stored<T> };
          continue;
        }
        if (this.#error !== undefined) throw this.#error;
        if (this.#over) return;
        if (await this.#isQuiet()) yield* this.#bookmark();
      }
    } finally {
      this.close();
    }
  }

  get #length(): number {
    return this.#waiting.length - this.#head;
  }

  #take(): Waiting | undefined {
    const next = this.#waiting[this.#head];
    if (next === undefined) return undefined;
    this.#head += 1;
    // Removes events already read, but not one by one: that would move the whole array each time.
    if (this.#head === this.#waiting.length || this.#head > lowWater) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    if (this.#length <= lowWater) for (const drainWaiters of this.#relieve.splice(0)) drainWaiters();
    return next;
  }

  /** Waits for an event; true if none arrived for long. */
  #isQuiet(): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (isQuiet: boolean): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve(isQuiet);
      };
      const timer = setTimeout(() => done(true), bookmarkIntervalMs);
      this.#wake = () => done(false);
    });
  }

  /** Moves the reader's position past changes that its filter dropped. */
  *#bookmark(): Generator<ClientEvent<T>> {
    const cursor = this.#stream?.cursor ?? 0;
    if (cursor <= this.#lastRevision || this.#length > 0) return;
    this.#lastRevision = cursor;
    yield { type: 'BOOKMARK', resourceVersion: String(cursor) };
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#stream?.stop();
    this.#markFull();
    this.#release();
    for (const relieve of this.#relieve.splice(0)) relieve();
    this.#wake?.();
  }
}
