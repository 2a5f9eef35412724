import { largeTurn } from '#pkg/apimachinery/index';
import type { RequestContext } from './request-context.ts';
import { uncountedBytes } from '../memory/byte-budget.ts';

/**
 * The bytes of one body as they arrive. A large one counts by what has come, in steps that double, not by what it says
 * that will come. Nothing more is read until there is room for the next step, and the event loop has no smaller work to
 * do.
 *
 * Bodies that each hold a part and wait for more come to an end: one at a time may have more than there is
 * (`TakeOptions.overdraws`), and whoever waits longer than a request may is 429, and leaves its part to the others.
 */
export class BodyBytes {
  readonly #context: Pick<RequestContext, 'request' | 'bytes'>;
  readonly #limit: number;
  #chunks: Buffer[] = [];
  /**
   * Of a large body, all of it: its end is known, or the most it may be. Of what nothing is written to the system gives
   * no memory.
   */
  #whole: Buffer | undefined;
  #size = 0;
  /** How large it may become without asking for more. */
  #room = uncountedBytes;

  /** `limit`: what a body without a Content-Length may come to. */
  constructor(context: Pick<RequestContext, 'request' | 'bytes'>, limit: number) {
    this.#context = context;
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** A promise where nothing more is to be read until it resolves; it rejects as `RequestBytes.admit` does. */
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
    bytes.lower(this.#size);
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
