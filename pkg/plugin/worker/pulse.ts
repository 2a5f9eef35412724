/**
 * A worker's pulse, in memory that both threads see: it beats while the worker's event loop turns, and the host reads
 * it even if its own was held up. Beside the count lies how much memory the worker has in use.
 */
export class Pulse {
  /** Between beats. Milliseconds. */
  static readonly intervalMs = 200;
  readonly #cells: Int32Array;

  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.#cells = new Int32Array(buffer);
  }

  get buffer(): SharedArrayBuffer {
    return this.#cells.buffer as SharedArrayBuffer;
  }

  get beats(): number {
    return Atomics.load(this.#cells, 0);
  }

  /** At the last beat: heap and buffers. */
  get memoryMiB(): number {
    return Atomics.load(this.#cells, 1);
  }

  beat(memoryMiB: number): void {
    Atomics.store(this.#cells, 1, Math.ceil(memoryMiB));
    Atomics.add(this.#cells, 0, 1);
  }
}

/** Adds up how long a pulse has been still, look by look; one look is due each `Pulse.intervalMs`. */
export class PulseWatch {
  readonly #pulse: Pulse;
  #seen = 0;
  #stillMs = 0;
  #lookedAt: number;

  constructor(pulse: Pulse, now: number) {
    this.#pulse = pulse;
    this.#lookedAt = now;
  }

  /**
   * Milliseconds without a beat, since the first one. A look that comes late counts little: where the whole process
   * stood still, the worker could not beat either.
   */
  look(now: number): number {
    const since = Math.min(now - this.#lookedAt, 2 * Pulse.intervalMs);
    this.#lookedAt = now;
    const { beats } = this.#pulse;
    // Until the first one the worker is still being made.
    this.#stillMs = beats === this.#seen && beats !== 0 ? this.#stillMs + since : 0;
    this.#seen = beats;
    return this.#stillMs;
  }
}
