import type { AnyObject, ClientEvent, EventStream, StatusError } from '#pkg/apimachinery/index';

/** Events that may be in flight to a reader. */
export const eventWindow = 64;

export interface PortEventStreamOptions {
  /** Allows the other side to send more events. */
  grant: (count: number) => void;
  /** Tells the other side that the reader has stopped early. */
  abandon: () => void;
  /** Called once, when no more events will come. */
  release: () => void;
}

/** The events of one watch; the reader grants how many may be in flight. */
export class PortEventStream<T extends AnyObject> implements EventStream<T> {
  readonly #options: PortEventStreamOptions;
  #waiting: ClientEvent<T>[] = [];
  #taken = 0;
  #isOver = false;
  #error: StatusError | undefined;
  #wake: (() => void) | undefined;

  constructor(options: PortEventStreamOptions) {
    this.#options = options;
  }

  push(event: ClientEvent<T>): void {
    if (this.#isOver) return;
    this.#waiting.push(event);
    this.#wake?.();
  }

  /** The reader still gets the events that have arrived. */
  end(error?: StatusError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#options.release();
    this.#wake?.();
  }

  close(): void {
    this.#waiting = [];
    this.#error = undefined;
    if (this.#isOver) return;
    this.#isOver = true;
    this.#options.abandon();
    this.#options.release();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<ClientEvent<T>> {
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next !== undefined) {
          this.#account();
          yield next;
        } else if (this.#error !== undefined) {
          throw this.#error;
        } else if (this.#isOver) {
          return;
        } else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.close();
    }
  }

  #account(): void {
    this.#taken += 1;
    if (this.#taken < eventWindow / 2) return;
    if (!this.#isOver) this.#options.grant(this.#taken);
    this.#taken = 0;
  }
}
