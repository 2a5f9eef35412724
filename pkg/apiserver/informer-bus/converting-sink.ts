import { isStatusError, newInternalError, newServiceUnavailable, type StatusError } from '#pkg/apimachinery/index';
import type { SharedRepresentation, WatchSink, WatchStream } from '../rest/served-resource.ts';

/** Events of one watch that wait, and characters of their stored objects. */
const maxEvents = 10_000;
const maxLength = 8 << 20;
/** Events of one watch that are prepared at a time. */
const maxPreparing = 4;

interface Waiting {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: SharedRepresentation;
}

/**
 * Between the bus, which delivers synchronously, and a sink whose events a webhook has to convert first. The order
 * stays. A watch for which too much waits is ended, and resumes after the last event that it got.
 */
export class ConvertingSink implements WatchSink {
  readonly #sink: WatchSink;
  readonly #waiting: Waiting[] = [];
  #length = 0;
  #pump: Promise<void> | undefined;
  #isOver = false;
  #stream: WatchStream | undefined;

  constructor(sink: WatchSink) {
    this.#sink = sink;
  }

  /** The stream as the sink sees it: its cursor is before the events that wait. */
  follow(stream: WatchStream): WatchStream {
    this.#stream = stream;
    if (this.#isOver) stream.stop();
    const firstWaiting = (): number | undefined => this.#waiting[0]?.object.revision;
    const stop = (): void => {
      this.#isOver = true;
      stream.stop();
    };
    return {
      get cursor() {
        const first = firstWaiting();
        return first === undefined ? stream.cursor : Math.min(stream.cursor, first - 1);
      },
      stop,
    };
  }

  event(type: Waiting['type'], object: SharedRepresentation): void {
    if (this.#isOver) return;
    this.#waiting.push({ type, object });
    this.#length += object.length;
    if (this.#waiting.length > maxEvents || (this.#length > maxLength && this.#waiting.length > 1)) {
      this.fail(newServiceUnavailable('the conversion webhook is slower than the changes: watch again'));
      return;
    }
    this.#pump ??= this.#run().finally(() => {
      this.#pump = undefined;
    });
  }

  async drained(): Promise<void> {
    while (this.#pump !== undefined) await this.#pump;
    await this.#sink.drained?.();
  }

  end(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.end(reason);
  }

  fail(error: StatusError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream?.stop();
    this.#sink.fail(error);
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      for (let next = this.#waiting[0]; next !== undefined && !this.#isOver; next = this.#waiting[0]) {
        // Their failures count when it is their turn.
        for (const { object } of this.#waiting.slice(1, maxPreparing)) object.prepared()?.catch(() => undefined);
        await next.object.prepared();
        if (this.#isOver) return;
        this.#sink.event(next.type, next.object);
        this.#waiting.shift();
        this.#length -= next.object.length;
      }
    } catch (error) {
      this.fail(isStatusError(error) ? error : newInternalError(error));
    }
  }
}
