import {
  abortError,
  newRequestEntityTooLarge,
  newTooManyRequests,
  statusErrorFrom,
  whenAborted,
  type Status,
  type StatusError,
} from '#pkg/apimachinery/index';
import type { EndpointCall, EndpointResult } from '../endpoint/endpoint-call.ts';
import type { HostToWorker } from './control-message.ts';

/**
 * Calls that a plugin may handle at a time. A call whose client has disconnected counts until its handler ends, or for
 * `handlerTimeoutMs`.
 */
const maxCalls = 100;
/** Limit of one body, as everywhere in the API, and of all bodies together. */
const maxBodyBytes = 3 << 20;
const maxBodiesBytes = 32 << 20;
/** A handler that has not ended this long after its client disconnected no longer counts. Milliseconds. */
const defaultHandlerTimeoutMs = 30_000;

interface CallUnderWay {
  bytes: number;
  /** Started when the client has disconnected. */
  forgetTimer?: NodeJS.Timeout;
  resolve(result: EndpointResult): void;
  reject(error: StatusError): void;
}

/** The calls that one plugin is handling; each ends with a result or an error. */
export class CallsUnderWay {
  readonly #plugin: string;
  readonly #post: (message: HostToWorker) => void;
  readonly #calls = new Map<number, CallUnderWay>();
  readonly #handlerTimeoutMs: number;
  #bytes = 0;
  #lastId = 0;
  #refusal: StatusError | undefined;

  constructor(plugin: string, post: (message: HostToWorker) => void, handlerTimeoutMs = defaultHandlerTimeoutMs) {
    this.#plugin = plugin;
    this.#post = post;
    this.#handlerTimeoutMs = handlerTimeoutMs;
  }

  /** @throws StatusError */
  async begin(call: EndpointCall, signal: AbortSignal): Promise<EndpointResult> {
    const bytes = call.body?.byteLength ?? 0;
    this.#admit(bytes, signal);
    this.#lastId += 1;
    const id = this.#lastId;
    let forget = (): void => undefined;
    try {
      return await new Promise<EndpointResult>((resolve, reject) => {
        // A copy: the bytes may be part of a larger buffer.
        this.#post({
          kind: 'call',
          id,
          call: { ...call, ...(call.body === undefined ? {} : { body: Uint8Array.from(call.body) }) },
        });
        const underWay: CallUnderWay = { bytes, resolve, reject };
        this.#calls.set(id, underWay);
        this.#bytes += bytes;
        forget = whenAborted(signal, () => {
          reject(abortError(signal));
          if (this.#calls.get(id) !== underWay) return;
          this.#post({ kind: 'abort', id });
          underWay.forgetTimer = setTimeout(() => this.#take(id), this.#handlerTimeoutMs).unref();
        });
      });
    } finally {
      forget();
    }
  }

  resolve(id: number, result: EndpointResult): void {
    this.#take(id)?.resolve(result);
  }

  reject(id: number, status: Status): void {
    this.#take(id)?.reject(statusErrorFrom(status));
  }

  /** Refuses new calls; running calls go on. */
  refuse(error: StatusError): void {
    this.#refusal ??= error;
  }

  /** Fails all running calls, and refuses new ones. */
  end(error: StatusError): void {
    this.refuse(error);
    for (const call of this.#calls.values()) {
      clearTimeout(call.forgetTimer);
      call.reject(error);
    }
    this.#calls.clear();
    this.#bytes = 0;
  }

  #admit(bytes: number, signal: AbortSignal): void {
    if (this.#refusal !== undefined) throw this.#refusal;
    if (signal.aborted) throw abortError(signal);
    if (bytes > maxBodyBytes)
      throw newRequestEntityTooLarge(`the body of the request is larger than ${maxBodyBytes} bytes`);
    if (this.#calls.size >= maxCalls || this.#bytes + bytes > maxBodiesBytes)
      throw newTooManyRequests(`the plugin ${this.#plugin} has too many requests under way`);
  }

  #take(id: number): CallUnderWay | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    clearTimeout(call.forgetTimer);
    this.#calls.delete(id);
    this.#bytes -= call.bytes;
    return call;
  }
}
