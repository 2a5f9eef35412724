import {
  largeTurn,
  newBadRequest,
  newRequestEntityTooLarge,
  newUnsupportedMediaType,
  StatusError,
} from '#pkg/apimachinery/index';
import type { RequestContext, Sender } from './request-context.ts';
import { uncountedBytes } from '../memory/byte-budget.ts';

export interface ReadBodyOptions {
  /** In bytes; default 3 MiB. */
  maxBytes?: number;
  /** For the whole body to arrive; default 30 s. */
  timeoutMs?: number;
}

/**
 * The whole body of a request, as raw bytes.
 *
 * Throws StatusError 413 above the limit, at once if Content-Length exceeds it, without reading the rest (the server
 * closes the connection after the answer); 415 for a compressed body: no client sends one, and a small one may expand
 * to gigabytes; 408 if it arrives too late or too slowly; 429 if too many bodies are arriving, or memory has no room
 * for a large one; the signal's reason if the client disconnected. Call it once per request.
 */
export async function readBody(context: RequestContext, options: ReadBodyOptions = {}): Promise<Buffer> {
  const { maxBytes = 3 * 1024 * 1024, timeoutMs = 30_000 } = options;
  const { request } = context;
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding !== '' && encoding.toLowerCase() !== 'identity') {
    throw newUnsupportedMediaType(['any without Content-Encoding']);
  }
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge(maxBytes);
  if (request.readableEnded || request.readableAborted) throw newBadRequest('the body was already read');
  // A small body mostly arrives with its head, and needs no timer and no listeners.
  if (request.complete && request.readableLength <= maxBytes)
    return (request.read() as Buffer | null) ?? Buffer.alloc(0);
  const arrive = (sender?: Sender): Promise<Buffer> => {
    sendContinue(context);
    return collect(context, { maxBytes, timeoutMs, sender });
  };
  return await (context.heldSlots === undefined ? arrive() : context.heldSlots.whileBodyArrives(arrive));
}

/** Asks a client that waits with `Expect: 100-continue` to send its body; call it before the body is read. */
export function sendContinue({ request, response }: RequestContext): void {
  if (request.headers.expect !== undefined && !response.headersSent && !request.complete) response.writeContinue();
}

/** Whether the request announces a body. */
export function hasBody(headers: RequestContext['request']['headers']): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

export function newBodyTimeout(timeoutMs: number): StatusError {
  return new StatusError(408, 'BadRequest', `the body of the request did not arrive within ${timeoutMs / 1000} s`);
}

function collect(
  context: RequestContext,
  { maxBytes, timeoutMs, sender }: Required<ReadBodyOptions> & { sender: Sender | undefined },
): Promise<Buffer> {
  const { request, signal } = context;
  return new Promise((resolve, reject) => {
    const body = new BodyBytes(context, maxBytes);
    const onTimeout = (): void => settle(newBodyTimeout(timeoutMs));
    let timer = setTimeout(onTimeout, timeoutMs);
    let endsAt = performance.now() + timeoutMs;
    let isSettled = false;
    const settle = (error: unknown): void => {
      isSettled = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      request.off('data', onData).off('end', onEnd).off('error', onError);
      if (error === undefined) return resolve(body.whole());
      request.pause();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      sender?.received(chunk.length);
      if (body.size + chunk.length > maxBytes) return settle(tooLarge(maxBytes));
      const room = body.add(chunk);
      if (room === undefined) return;
      request.pause();
      clearTimeout(timer);
      const since = performance.now();
      room.then(() => readOn(performance.now() - since), settle);
    };
    // The time limit does not include the wait for other requests.
    const readOn = (waitedMs: number): void => {
      if (isSettled) return;
      endsAt += waitedMs;
      timer = setTimeout(onTimeout, Math.max(0, endsAt - performance.now()));
      request.resume();
    };
    const onEnd = (): void => settle(undefined);
    const onError = (): void =>
      settle(signal.aborted ? signal.reason : newBadRequest('the body of the request is incomplete'));
    const onAbort = (): void => settle(signal.reason);
    request.on('data', onData).on('end', onEnd).on('error', onError);
    signal.addEventListener('abort', onAbort, { once: true });
    if (sender !== undefined) sender.onCut = settle;
    if (signal.aborted) onAbort();
  });
}

function tooLarge(limit: number): StatusError {
  return newRequestEntityTooLarge(`the body of the request is larger than ${limit} bytes`);
}

/**
 * The bytes of one body as they arrive. A large body counts with the bytes that have arrived, in doubling steps, not
 * with its announced length. Reading pauses until there is room for the next step and the event loop has no smaller
 * work.
 *
 * Bodies that each hold a part and wait for more still end: one at a time may exceed the budget
 * (`TakeOptions.overdraws`), and one that waits too long is answered 429 and frees its part.
 */
export class BodyBytes {
  readonly #context: Pick<RequestContext, 'request' | 'bytes'>;
  readonly #limit: number;
  #chunks: Buffer[] = [];
  /**
   * A buffer for a whole large body, of its announced length or the limit. The system gives no memory for pages that
   * are never written.
   */
  #whole: Buffer | undefined;
  #size = 0;
  /** How large it may become before it must reserve more. */
  #room = uncountedBytes;

  /** `limit`: the most that a body without a Content-Length may have. */
  constructor(context: Pick<RequestContext, 'request' | 'bytes'>, limit: number) {
    this.#context = context;
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** Returns a promise if reading must pause until it resolves; it rejects as `RequestBytes.admit` does. */
  add(chunk: Buffer): Promise<void> | undefined {
    if (this.#whole === undefined) this.#chunks.push(chunk);
    else chunk.copy(this.#whole, this.#size);
    this.#size += chunk.length;
    return this.#size > this.#room ? this.#makeRoom() : undefined;
  }

  whole(): Buffer {
    const { bytes } = this.#context;
    if (this.#whole === undefined)
      return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size);
    bytes.lowerTo(this.#size);
    return this.#whole.subarray(0, this.#size);
  }

  async #makeRoom(): Promise<void> {
    const most = Number(this.#context.request.headers['content-length'] ?? this.#limit);
    while (this.#room < this.#size) this.#room *= 2;
    this.#room = Math.min(this.#room, most);
    await this.#context.bytes.admit(this.#room);
    await largeTurn(this.#room - this.#size);
    if (this.#whole !== undefined) return;
    this.#whole = Buffer.allocUnsafeSlow(most);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(this.#whole, at);
    this.#chunks = [];
  }
}
