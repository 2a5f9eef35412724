import {
  isFenceLost,
  isStatusError,
  pause,
  StatusError,
  untilAborted,
  withinTime,
  type AnyObject,
  type Client,
  type Fence,
} from '#pkg/apimachinery/index';
import { eventType } from '#pkg/apis/index';
import type { Log } from '../log.ts';
import { EventCorrelator, type CorrelatedEvent } from './event-correlator.ts';
import type { EventFacts, EventOptions, EventSink } from './event-sink.ts';

/** Events that can wait; above this, events are dropped. */
const maxQueueLength = 1000;
const maxTries = 5;
const firstPauseMs = 200;
/** Timeout of one write. Milliseconds. */
const writeTimeoutMs = 5000;
/** Minimum between two log lines about dropped events. Milliseconds. */
const silenceMs = 60_000;

/** An event that waits, and the fence of its own. */
type WaitingEvent = CorrelatedEvent & EventOptions;

export interface EventRecorderOptions {
  client: Pick<Client, 'create' | 'patch'>;
  log: Log;
  /** The fence of its writes, if there is a leader election. */
  fence?: Fence;
  /** The reporting process, if there are several. */
  instance?: string;
}

/** Writes events one by one in the background, during one term. */
export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator = new EventCorrelator();
  /** By correlation key: a waiting event absorbs later ones. */
  readonly #queue = new Map<string, WaitingEvent>();
  readonly #stopping = new AbortController();
  #writing: Promise<void> | undefined;
  #isOpen = true;
  #dropped = 0;
  #toldAt = -Infinity;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  /** Events that were not written: the queue was full, the API refused them, or the recorder stopped before. */
  get dropped(): number {
    return this.#dropped;
  }

  /** The sink of one component, named as its controller. */
  sinkOf(component: string): EventSink {
    return { record: (object, facts, options) => this.#record(component, object, facts, options) };
  }

  /** Writes the waiting events, for at most `timeoutMs`, and drops the rest. Idempotent, never rejects. */
  async stop(timeoutMs = 2000): Promise<void> {
    this.#isOpen = false;
    const timer = setTimeout(() => this.#stopping.abort(), timeoutMs);
    await this.#writing;
    clearTimeout(timer);
  }

  #record(component: string, object: AnyObject, facts: EventFacts, { fence }: EventOptions = {}): void {
    if (!this.#isOpen) return;
    try {
      const correlated = this.#correlator.correlate(component, this.#options.instance, object, facts);
      if (correlated === undefined) return;
      if (!this.#queue.has(correlated.key) && this.#queue.size >= maxQueueLength) return this.#drop(1, undefined);
      this.#queue.set(correlated.key, fence === undefined ? correlated : { ...correlated, fence });
      this.#writing ??= this.#writeAll();
    } catch (error) {
      this.#drop(1, error);
    }
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    // Combines the events of one turn of the event loop.
    await new Promise(setImmediate);
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      try {
        await this.#write(next);
      } catch (error) {
        this.#drop(1, error);
        // The new leader reports its own events. A lost fence of one event says nothing about the others.
        const isTermOver = isFenceLost(error) && next.fence === undefined;
        if (isTermOver) this.#isOpen = false;
        if (isTermOver || this.#stopping.signal.aborted) break;
      }
    }
    if (this.#queue.size > 0) this.#drop(this.#queue.size, undefined);
    this.#queue.clear();
    this.#writing = undefined;
  }

  #take(): WaitingEvent | undefined {
    const [next] = this.#queue.values();
    if (next !== undefined) this.#queue.delete(next.key);
    return next;
  }

  async #write(waiting: WaitingEvent): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; ;) {
      signal.throwIfAborted();
      try {
        return await this.#writeOnce(waiting);
      } catch (error) {
        failures += 1;
        if (failures >= maxTries || !isTransient(error)) throw error;
        if (!(error instanceof RepeatError)) await pause(firstPauseMs * 2 ** failures, signal);
      }
    }
  }

  async #writeOnce({ event, state, fence = this.#options.fence }: WaitingEvent): Promise<void> {
    const { client } = this.#options;
    const { signal } = this.#stopping;
    const { namespace = '', name } = event.metadata;
    const { message = '', count = 1, lastTimestamp = '' } = event;
    const patch = { type: 'merge' as const, patch: { message, count, lastTimestamp } };
    try {
      await withinTime({ timeoutMs: writeTimeoutMs, signal }, (limit) => {
        const options = { signal: limit, ...(fence === undefined ? {} : { fence }) };
        const work: Promise<unknown> = state.isStored
          ? client.patch(eventType, { namespace, name }, patch, options)
          : client.create(eventType, event, options);
        return untilAborted(work, limit);
      });
      state.isStored = true;
    } catch (error) {
      // The event expired meanwhile, or a try whose response was lost created it: the next try uses the other verb.
      if (state.isStored ? isStatusError(error, 'NotFound') : isStatusError(error, 'AlreadyExists')) {
        state.isStored = !state.isStored;
        throw new RepeatError();
      }
      throw error;
    }
  }

  #drop(count: number, error: unknown): void {
    this.#dropped += count;
    const now = performance.now();
    if (isFenceLost(error) || now - this.#toldAt < silenceMs) return;
    this.#toldAt = now;
    this.#options.log.warn(
      { dropped: this.#dropped, ...(error === undefined ? {} : { err: error }) },
      'dropped events',
    );
  }
}

class RepeatError extends Error {}

function isTransient(error: unknown): boolean {
  return error instanceof RepeatError || (error instanceof StatusError && (error.code === 429 || error.code >= 500));
}
