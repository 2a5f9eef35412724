import type { MessagePort } from 'node:worker_threads';
import {
  abortError,
  isStatusError,
  newBadRequest,
  newInternalError,
  newRequestEntityTooLarge,
  newServiceUnavailable,
  newTooManyRequests,
  type Client,
  type StatusError,
} from '#pkg/apimachinery/index';
import { WeightedSemaphore } from './weighted-semaphore.ts';
import { Credit } from './credit.ts';
import { isId, readMessage, readStep, sendText, wireError, type HostMessage } from './port-message.ts';
import { parsePortCall, type PortCallOptions, type PortCall } from './port-call.ts';

export interface ServePortOptions {
  port: MessagePort;
  /** Calls run with the permissions of this client. */
  client: Client;
  /** Concurrent calls and watches; one more is 429. Default 1000. */
  maxCalls?: number;
  /** Calls processed at once, a list counts as four; the others wait. Default 16. */
  maxRunning?: number;
  /** Limit of an incoming message, in characters; a larger one is 413. Default 16 Mi. */
  maxMessageLength?: number;
  /** Limit of an outgoing message, in characters. Default 64 Mi. */
  maxAnswerLength?: number;
  /** Characters sent and not read yet; above this no more is sent, except one message of any length. Default 16 Mi. */
  maxUnreadLength?: number;
  /** Called with failures that no client should cause. Default: ignored. */
  onError?: (error: unknown) => void;
}

/** One side of a port, until either is closed. */
export interface PortService {
  /** Running calls and watches. */
  readonly size: number;
  /** Resolves when it is closed and all its calls have ended. */
  readonly closed: Promise<void>;
  /** Ends every call with 503 and every stream. Idempotent. */
  close(): void;
}

/**
 * Serves calls over a port from a PortClient on the other side. Messages are untrusted: an invalid call gets 400, or no
 * response if it has no id, and no message makes this throw.
 */
export function servePort(options: ServePortOptions): PortService {
  return new ServedPort(options);
}

/** Share of `maxRunning` that a list takes, because it may be as large as many objects. */
const listShare = 4;

interface ServedCall {
  abort: AbortController;
  credit: Credit;
}

class ServedPort implements PortService {
  readonly closed: Promise<void>;
  readonly #options: Required<ServePortOptions>;
  readonly #calls = new Map<number, ServedCall>();
  readonly #running: WeightedSemaphore;
  readonly #unread: WeightedSemaphore;
  #markClosed!: () => void;
  #isClosed = false;

  constructor(options: ServePortOptions) {
    this.#options = {
      maxCalls: 1000,
      maxRunning: 16,
      maxMessageLength: 16 << 20,
      maxAnswerLength: 64 << 20,
      maxUnreadLength: 16 << 20,
      onError: () => undefined,
      ...options,
    };
    this.#running = new WeightedSemaphore(this.#options.maxRunning);
    this.#unread = new WeightedSemaphore(this.#options.maxUnreadLength + readStep);
    this.closed = new Promise((resolve) => {
      this.#markClosed = resolve;
    });
    const { port } = this.#options;
    port.on('message', this.#onMessage);
    port.once('close', this.#onClose);
  }

  get size(): number {
    return this.#calls.size;
  }

  close(): void {
    if (this.#isClosed) return;
    const { port } = this.#options;
    this.#post({ closed: true });
    this.#onClose();
    port.close();
  }

  readonly #onClose = (): void => {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { port } = this.#options;
    port.off('message', this.#onMessage);
    port.off('close', this.#onClose);
    for (const { abort } of this.#calls.values()) abort.abort(newServiceUnavailable('the port is closed'));
    this.#markClosed();
  };

  readonly #onMessage = (text: unknown): void => {
    if (typeof text !== 'string') return;
    const { maxMessageLength, maxCalls } = this.#options;
    // Our client sends the id first, so that a message that is too large to parse gets a response too.
    const head = Number(/^\{"id":(\d{1,15}),"call"/.exec(text.slice(0, 32))?.[1] ?? 0);
    if (text.length > maxMessageLength)
      return this.#refuse(head, newRequestEntityTooLarge(`the message is larger than ${maxMessageLength} characters`));
    const message = readMessage(text);
    if (message === undefined) return this.#refuse(head, newBadRequest('the message is not a JSON object'));
    const { id, call, abort, grant, read } = message;
    if (isId(read)) return this.#unread.give(read);
    if (!isId(id)) return;
    const underWay = this.#calls.get(id);
    if (underWay !== undefined) {
      if (abort === true) underWay.abort.abort();
      else if (isId(grant)) underWay.credit.grant(grant);
    } else if (call !== undefined) {
      if (this.#calls.size >= maxCalls)
        this.#refuse(id, newTooManyRequests(`more than ${maxCalls} calls are under way`));
      else void this.#serve(id, call);
    }
  };

  /** Never rejects. */
  async #serve(id: number, given: unknown): Promise<void> {
    const served: ServedCall = { abort: new AbortController(), credit: new Credit() };
    const { signal } = served.abort;
    this.#calls.set(id, served);
    try {
      const call = parsePortCall(given);
      if (call.verb === 'watch') {
        served.credit.grant(call.grant);
        await this.#follow(id, call, served);
      } else {
        const answer = answerers[call.verb];
        await this.#whileRunning(call.verb === 'list' ? listShare : 1, signal, async () => {
          await this.#answer(
            { id, result: await answer(this.#options.client, call, { ...call.options, signal }) },
            signal,
          );
        });
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(id, error);
    } finally {
      this.#calls.delete(id);
    }
  }

  async #follow(id: number, { type, options }: PortCall, { abort: { signal }, credit }: ServedCall): Promise<void> {
    const stream = await this.#whileRunning(1, signal, () => this.#options.client.watch(type, { ...options, signal }));
    try {
      if (signal.aborted) throw abortError(signal);
      await this.#answer({ id, result: true }, signal);
      for await (const event of stream) {
        if (!(await credit.take(signal))) return;
        await this.#answer({ id, event }, signal);
      }
      await this.#answer({ id, end: true }, signal);
    } finally {
      stream.close();
    }
  }

  /** Waits for its turn, then runs `work`. @throws StatusError if the signal fires before */
  async #whileRunning<T>(share: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const mine = Math.min(share, this.#options.maxRunning);
    if (!(await this.#running.take(mine, signal))) throw abortError(signal);
    try {
      return await work();
    } finally {
      this.#running.give(mine);
    }
  }

  /**
   * Sends the message when the reader has read enough of the previous ones, unless the signal fires first. @throws
   * StatusError 413 if it is too large
   */
  async #answer(message: HostMessage, signal: AbortSignal): Promise<void> {
    const text = this.#textOf(message);
    if (await this.#unread.take(Math.min(text.length, this.#options.maxUnreadLength), signal))
      sendText(this.#options.port, text);
  }

  #refuse(id: number, error: StatusError): void {
    if (isId(id) && !this.#calls.has(id)) this.#fail(id, error);
  }

  #fail(id: number, error: unknown): void {
    if (!isStatusError(error)) this.#options.onError(error);
    this.#post({ id, error: wireError(isStatusError(error) ? error : newInternalError(error)) });
  }

  /** Sends immediately: for short messages, one for each call. */
  #post(message: HostMessage): void {
    if (this.#isClosed) return;
    const text = this.#textOf(message);
    this.#unread.overdraw(text.length);
    sendText(this.#options.port, text);
  }

  /** @throws StatusError 413 */
  #textOf(message: HostMessage): string {
    const { maxAnswerLength } = this.#options;
    const text = textOf(message);
    if (text === undefined || text.length > maxAnswerLength)
      throw newRequestEntityTooLarge(`the answer is larger than ${maxAnswerLength} characters`);
    return text;
  }
}

/** Undefined if it would exceed the maximum string length. */
function textOf(message: HostMessage): string | undefined {
  try {
    return JSON.stringify(message);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

type Answerer = (client: Client, call: PortCall, options: PortCallOptions) => Promise<unknown>;

const answerers: Readonly<Record<Exclude<PortCall['verb'], 'watch'>, Answerer>> = {
  get: (client, { type, key }, options) => client.get(type, key, options),
  list: (client, { type }, options) => client.list(type, options),
  create: (client, { type, object }, options) => client.create(type, object, options),
  update: (client, { type, object }, options) => client.update(type, object, options),
  updateStatus: (client, { type, object }, options) => client.updateStatus(type, object, options),
  patch: (client, { type, key, patch }, options) => client.patch(type, key, patch, options),
  patchStatus: (client, { type, key, patch }, options) => client.patchStatus(type, key, patch, options),
  apply: (client, { type, configuration }, options) => client.apply(type, configuration, options),
  applyStatus: (client, { type, configuration }, options) => client.applyStatus(type, configuration, options),
  delete: (client, { type, key }, options) => client.delete(type, key, options),
};
