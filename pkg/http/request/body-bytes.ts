import { largeTurn } from '#pkg/apimachinery/index';
import type { RequestContext } from './request-context.ts';
import { uncountedBytes } from '../memory/byte-budget.ts';

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
