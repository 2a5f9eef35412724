import type { RequestContext } from '../request-context.ts';
import { uncountedBytes } from './byte-budget.ts';

/** The bytes of one body as they arrive; of a large one the rest comes when there is room for it. */
export class BodyBytes {
  readonly #context: RequestContext;
  readonly #limit: number;
  #chunks: Buffer[] = [];
  /** Of a large body, all of it: its end is known, or the most it may be. */
  #whole: Buffer | undefined;
  #size = 0;

  /** `limit`: what a body without a Content-Length may come to. */
  constructor(context: RequestContext, limit: number) {
    this.#context = context;
    this.#limit = limit;
  }

  get size(): number {
    return this.#size;
  }

  /** A promise where nothing more is to be read until it resolves; it rejects as `RequestBytes.admit` does. */
  add(chunk: Buffer): Promise<void> | undefined {
    const before = this.#size;
    this.#size += chunk.length;
    if (this.#whole !== undefined) {
      chunk.copy(this.#whole, before);
      return undefined;
    }
    this.#chunks.push(chunk);
    return this.#size > uncountedBytes ? this.#makeRoom() : undefined;
  }

  whole(): Buffer {
    const { bytes } = this.#context;
    if (this.#whole === undefined) return this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size);
    bytes.lower(this.#size);
    return this.#whole.subarray(0, this.#size);
  }

  async #makeRoom(): Promise<void> {
    const declared = Number(this.#context.request.headers['content-length'] ?? this.#limit);
    await this.#context.bytes.admit(declared);
    this.#whole = Buffer.allocUnsafeSlow(declared);
    let at = 0;
    for (const chunk of this.#chunks) at += chunk.copy(this.#whole, at);
    this.#chunks = [];
  }
}
