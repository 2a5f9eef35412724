import type { MessagePort } from 'node:worker_threads';
import {
  abortError,
  encodeRequestBody,
  gatherList,
  newServiceUnavailable,
  newTimeout,
  whenAborted,
  type AnyObject,
  type ApplyConfiguration,
  type ApplyOptions,
  type Client,
  type ClientEvent,
  type DeleteOptions,
  type Deletion,
  type EventStream,
  type ListOptions,
  type ObjectKey,
  type ObjectList,
  type Patch,
  type RequestOptions,
  type ResourceType,
  type StatusError,
  type Stored,
  type WatchOptions,
  type WriteOptions,
} from '#pkg/apimachinery/index';
import { emptyEventStream } from '../stream/empty-event-stream.ts';
import { WeightedSemaphore } from './weighted-semaphore.ts';
import { errorFromWire, isId, readMessage, readStep, sendText, type WorkerMessage } from './port-message.ts';
import { eventWindow, PortEventStream } from './port-event-stream.ts';
import type { PortCall } from './port-call.ts';

export interface PortClientOptions {
  /** `servePort` must serve its other side. The client's `close` closes it. */
  port: MessagePort;
  /** Timeout for a response, or for the start of a watch. Milliseconds, default 60 s. */
  answerTimeoutMs?: number;
}

/**
 * Limit of unanswered calls, in characters. Further calls wait here, so that they use the memory of the caller and not
 * of the other side.
 */
const maxUnanswered = 16 << 20;
/** Chunk size of a list without a limit. */
const chunkSize = 500;

type Call = { verb: PortCall['verb']; type: ResourceType; options?: object | undefined } & Partial<
  Pick<PortCall, 'key' | 'object' | 'patch' | 'configuration' | 'grant'>
>;

interface Waiting {
  /** @param outcome returns the result or throws */
  resolve(outcome: () => unknown): void;
  reject(error: StatusError): void;
}

/**
 * A Client over a port, for a worker thread: permissions and connection are those of the other side. The caller must
 * close it.
 */
export class PortClient implements Client {
  readonly #port: MessagePort;
  readonly #answerTimeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #streams = new Map<number, PortEventStream<AnyObject>>();
  readonly #unanswered = new WeightedSemaphore(maxUnanswered);
  #lastId = 0;
  #read = 0;
  #closed: StatusError | undefined;

  constructor({ port, answerTimeoutMs = 60_000 }: PortClientOptions) {
    this.#port = port;
    this.#answerTimeoutMs = answerTimeoutMs;
    port.on('message', this.#onMessage);
    port.once('close', this.#onClose);
  }

  get<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: RequestOptions): Promise<Stored<T>> {
    return this.#call({ verb: 'get', type, key, options });
  }

  list<T extends AnyObject>(type: ResourceType<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    return gatherList<T>(options, chunkSize, (chunk) => this.#call({ verb: 'list', type, options: chunk }));
  }

  create<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#call({ verb: 'create', type, object, options });
  }

  update<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#call({ verb: 'update', type, object, options });
  }

  updateStatus<T extends AnyObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#call({ verb: 'updateStatus', type, object, options });
  }

  patch<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#call({ verb: 'patch', type, key, patch, options });
  }

  patchStatus<T extends AnyObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<Stored<T>> {
    return this.#call({ verb: 'patchStatus', type, key, patch, options });
  }

  apply<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    options?: ApplyOptions,
  ): Promise<Stored<T>> {
    return this.#call({ verb: 'apply', type, configuration, options });
  }

  applyStatus<T extends AnyObject>(
    type: ResourceType<T>,
    configuration: ApplyConfiguration<T>,
    options?: ApplyOptions,
  ): Promise<Stored<T>> {
    return this.#call({ verb: 'applyStatus', type, configuration, options });
  }

  delete<T extends AnyObject>(type: ResourceType<T>, key: ObjectKey, options?: DeleteOptions): Promise<Deletion<T>> {
    return this.#call({ verb: 'delete', type, key, options });
  }

  async watch<T extends AnyObject>(type: ResourceType<T>, options: WatchOptions): Promise<EventStream<T>> {
    const { signal } = options;
    const id = this.#nextId();
    let forget = (): void => undefined;
    const stream: PortEventStream<T> = new PortEventStream<T>({
      grant: (count) => this.#post({ id, grant: count }),
      abandon: () => this.#post({ id, abort: true }),
      release: () => {
        this.#streams.delete(id);
        forget();
      },
    });
    // Registered before the call, because events may arrive together with its response.
    this.#streams.set(id, stream);
    try {
      await this.#send<boolean>(id, { verb: 'watch', type, options, grant: eventWindow }, signal);
    } catch (error) {
      stream.end();
      // The caller has aborted, so it gets no further events.
      if (signal?.aborted === true) return emptyEventStream;
      throw error;
    }
    forget = whenAborted(signal, () => stream.close());
    return stream;
  }

  /** Ends every call with 503 and every stream, here and on the other side. Idempotent. */
  close(): void {
    this.#end('the client is closed');
    this.#port.close();
  }

  #call<Result>(call: Call & { options?: RequestOptions | undefined }): Promise<Result> {
    return this.#send<Result>(this.#nextId(), call, call.options?.signal);
  }

  async #send<Result>(id: number, call: Call, signal: AbortSignal | undefined): Promise<Result> {
    if (this.#closed !== undefined) throw this.#closed;
    if (signal?.aborted === true) throw abortError(signal);
    const text = encodeRequestBody({ id, call: { ...call, options: { ...call.options, signal: undefined } } });
    const over = new AbortController();
    const share = Math.min(text.length, maxUnanswered);
    let isSent = false;
    let settle = (): void => undefined;
    try {
      const outcome = await new Promise<() => unknown>((resolve, reject) => {
        const giveUp = (error: StatusError): void => {
          // First of all: a call that is not sent yet must not be sent after its end.
          over.abort();
          reject(error);
          this.#post({ id, abort: true });
        };
        const timer = setTimeout(
          () => giveUp(newTimeout(`no answer came within ${this.#answerTimeoutMs / 1000} s`)),
          this.#answerTimeoutMs,
        );
        const forget = whenAborted(signal, () => giveUp(abortError(signal!)));
        settle = () => {
          clearTimeout(timer);
          forget();
          this.#waiting.delete(id);
          over.abort();
          if (isSent) this.#unanswered.give(share);
        };
        this.#waiting.set(id, { resolve, reject });
        void this.#unanswered.take(share, over.signal).then((isMine) => {
          isSent = isMine && !over.signal.aborted;
          if (isSent) sendText(this.#port, text);
          else if (isMine) this.#unanswered.give(share);
          return undefined;
        });
      });
      // Created here, so that its stack trace shows the caller.
      return outcome() as Result;
    } finally {
      settle();
    }
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  readonly #onMessage = (text: unknown): void => {
    if (typeof text !== 'string') return;
    this.#acknowledge(text.length);
    const message = readMessage(text);
    if (message === undefined) return;
    if (message['closed'] === true) return this.#onClose();
    const { id, result, error, event, end } = message;
    if (!isId(id)) return;
    const [waiting, stream] = [this.#waiting.get(id), this.#streams.get(id)];
    if (waiting !== undefined) {
      if (error !== undefined) {
        waiting.resolve(() => {
          throw errorFromWire(error);
        });
      } else if (result !== undefined) waiting.resolve(() => result);
    }
    if (event !== undefined) stream?.push(event as ClientEvent<AnyObject>);
    else if (end === true) stream?.end();
    else if (error !== undefined) stream?.end(errorFromWire(error));
  };

  #acknowledge(length: number): void {
    this.#read += length;
    if (this.#read < readStep) return;
    this.#post({ read: this.#read });
    this.#read = 0;
  }

  readonly #onClose = (): void => this.#end('the other side of the port is closed');

  #end(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = newServiceUnavailable(reason);
    this.#port.off('message', this.#onMessage);
    this.#port.off('close', this.#onClose);
    for (const waiting of this.#waiting.values()) waiting.reject(this.#closed);
    for (const stream of this.#streams.values()) stream.end();
  }

  #post(message: WorkerMessage): void {
    if (this.#closed === undefined) sendText(this.#port, JSON.stringify(message));
  }
}
