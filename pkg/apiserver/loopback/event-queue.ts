import type { AnyObject, ClientEvent, EventStream, StatusError, Stored } from '#pkg/apimachinery/index';
import type { SharedRepresentation, WatchSink, WatchStream } from '../rest/served-resource.ts';

/** Events a reader may be behind; past that its stream ends, and it goes on from where it was. */
const maxWaiting = 10_000;
/** History is read on when no more than this waits. */
const lowWater = 1000;
const bookmarkIntervalMs = 60_000;

/** Characters of an object from which on its readers do not decode it in one turn of the event loop. */
const largeText = 100_000;

let lastTurn: Promise<void> = Promise.resolve();

/** After everything else that is due, and after whoever asked before has had a turn. */
function turnOfItsOwn(): Promise<void> {
  lastTurn = lastTurn.then(() => new Promise((resolve) => void setImmediate(resolve)));
  return lastTurn;
}

interface Waiting {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: SharedRepresentation;
}

/** Between the bus, which pushes, and one reader, who takes. */
export class EventQueue<T extends AnyObject> implements WatchSink, EventStream<T> {
  #waiting: Waiting[] = [];
  #head = 0;
  #wake: (() => void) | undefined;
  #relieve: (() => void)[] = [];
  #stream: WatchStream | undefined;
  #told: number;
  #over = false;
  #error: StatusError | undefined;
  #markFull!: () => void;
  readonly #release: () => void;
  /**
   * Resolves when there is more history than is taken at first, or when it is over: there is nothing more to wait for.
   */
  readonly full: Promise<void>;

  /** `release` is called once, when the stream is over for whatever reason. */
  constructor(after: number, release: () => void) {
    this.#told = after;
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
    // Cut off without what it has not taken: it asks again from the last event that it did take.
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

  /** The history broke off: what came of it is still told. */
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
          this.#told = next.object.revision;
          const text = next.object.text();
          // Each of many readers decodes it for itself, and looks at all of it.
          if (text.length > largeText) await turnOfItsOwn();
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
    // What was taken is let go, though not one by one: that would move the whole array each time.
    if (this.#head === this.#waiting.length || this.#head > lowWater) {
      this.#waiting = this.#waiting.slice(this.#head);
      this.#head = 0;
    }
    if (this.#length <= lowWater) for (const relieve of this.#relieve.splice(0)) relieve();
    return next;
  }

  /** Waits for something to happen; true if nothing did for long. */
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

  /** Moves the reader's position past changes that were none of its. */
  *#bookmark(): Generator<ClientEvent<T>> {
    const cursor = this.#stream?.cursor ?? 0;
    if (cursor <= this.#told || this.#length > 0) return;
    this.#told = cursor;
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
