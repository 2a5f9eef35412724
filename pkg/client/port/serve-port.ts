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
import { Credit } from './credit.ts';
import { isId, readMessage, send, wireError, type HostMessage } from './port-message.ts';
import { readCall, type CallOptions, type PortCall } from './read-call.ts';

export interface ServePortOptions {
  port: MessagePort;
  /** Whose permissions hold for whoever has the other side. */
  client: Client;
  /** Calls and watches under way; one more is 429. Default 1000. */
  maxCalls?: number;
  /** Of a message that comes, in characters; a larger one is 413. Default 16 Mi. */
  maxMessageLength?: number;
  /** Of a message that goes. Default 64 Mi. */
  maxAnswerLength?: number;
  /** Hears of failures that no client should cause. Default: nobody does. */
  onError?: (error: unknown) => void;
}

/** One side of a port, until either is closed. */
export interface PortService {
  /** Calls and watches under way. */
  readonly size: number;
  /** Resolves when it is over and nothing of it is left. */
  readonly closed: Promise<void>;
  /** Ends every call with 503 and every stream. Idempotent. */
  close(): void;
}

/**
 * Serves calls that come over a port, from a PortClient on its other side. What comes is taken for data of any kind: a message that is no call
 * is answered 400, or not at all where it names none, and nothing that comes makes this throw.
 */
export function servePort(options: ServePortOptions): PortService {
  return new ServedPort(options);
}

interface ServedCall {
  abort: AbortController;
  credit: Credit;
}

class ServedPort implements PortService {
  readonly closed: Promise<void>;
  readonly #options: Required<ServePortOptions>;
  readonly #calls = new Map<number, ServedCall>();
  #markClosed!: () => void;
  #isClosed = false;

  constructor(options: ServePortOptions) {
    this.#options = { maxCalls: 1000, maxMessageLength: 16 << 20, maxAnswerLength: 64 << 20, onError: () => undefined, ...options };
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
    // A client of ours names the call first, so that also what is not read can be answered.
    const head = Number(/^\{"id":(\d{1,15}),"call"/.exec(text.slice(0, 32))?.[1] ?? 0);
    if (text.length > maxMessageLength) return this.#refuse(head, newRequestEntityTooLarge(`the message is larger than ${maxMessageLength} characters`));
    const message = readMessage(text);
    if (message === undefined) return this.#refuse(head, newBadRequest('the message is not a JSON object'));
    const { id, call, abort, grant } = message;
    if (!isId(id)) return;
    const underWay = this.#calls.get(id);
    if (underWay !== undefined) {
      if (abort === true) underWay.abort.abort();
      else if (isId(grant)) underWay.credit.grant(grant);
    } else if (call !== undefined) {
      if (this.#calls.size >= maxCalls) this.#refuse(id, newTooManyRequests(`more than ${maxCalls} calls are under way`));
      else void this.#serve(id, call);
    }
  };

  /** Never rejects. */
  async #serve(id: number, given: unknown): Promise<void> {
    const served: ServedCall = { abort: new AbortController(), credit: new Credit() };
    const { signal } = served.abort;
    this.#calls.set(id, served);
    try {
      const call = readCall(given);
      if (call.verb === 'watch') {
        served.credit.grant(call.grant);
        await this.#follow(id, call, served);
      } else {
        const result = await answerers[call.verb](this.#options.client, call, { ...call.options, signal });
        if (!signal.aborted) this.#post({ id, result });
      }
    } catch (error) {
      if (!signal.aborted) this.#fail(id, error);
    } finally {
      this.#calls.delete(id);
    }
  }

  async #follow(id: number, { type, options }: PortCall, { abort: { signal }, credit }: ServedCall): Promise<void> {
    const stream = await this.#options.client.watch(type, { ...options, signal });
    try {
      if (signal.aborted) throw abortError(signal);
      this.#post({ id, result: true });
      for await (const event of stream) {
        if (!(await credit.take(signal))) return;
        this.#post({ id, event });
      }
      if (!signal.aborted) this.#post({ id, end: true });
    } finally {
      stream.close();
    }
  }

  #refuse(id: number, error: StatusError): void {
    if (isId(id) && !this.#calls.has(id)) this.#fail(id, error);
  }

  #fail(id: number, error: unknown): void {
    if (!isStatusError(error)) this.#options.onError(error);
    this.#post({ id, error: wireError(isStatusError(error) ? error : newInternalError(error)) });
  }

  /** @throws StatusError 413 for what is too large to be sent */
  #post(message: HostMessage): void {
    const { maxAnswerLength, port } = this.#options;
    if (this.#isClosed) return;
    const text = textOf(message);
    if (text === undefined || text.length > maxAnswerLength) throw newRequestEntityTooLarge(`the answer is larger than ${maxAnswerLength} characters`);
    send(port, text);
  }
}

/** Undefined where it would be longer than any text can be. */
function textOf(message: HostMessage): string | undefined {
  try {
    return JSON.stringify(message);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

type Answerer = (client: Client, call: PortCall, options: CallOptions) => Promise<unknown>;

const answerers: Readonly<Record<Exclude<PortCall['verb'], 'watch'>, Answerer>> = {
  get: (client, { type, key }, options) => client.get(type, key, options),
  list: (client, { type }, options) => client.list(type, options),
  create: (client, { type, object }, options) => client.create(type, object, options),
  update: (client, { type, object }, options) => client.update(type, object, options),
  updateStatus: (client, { type, object }, options) => client.updateStatus(type, object, options),
  patch: (client, { type, key, patch }, options) => client.patch(type, key, patch, options),
  patchStatus: (client, { type, key, patch }, options) => client.patchStatus(type, key, patch, options),
  delete: (client, { type, key }, options) => client.delete(type, key, options),
};
