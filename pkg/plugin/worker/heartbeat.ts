/**
 * A worker's heartbeat in memory that both threads share. The worker counts up while its event loop runs, and the host
 * can read it even if its own event loop was blocked. Next to the count is the memory that the worker uses.
 */
export class Heartbeat {
  /** Interval of beats. Milliseconds. */
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

  /** Heap and buffers at the last beat. */
  get memoryMiB(): number {
    return Atomics.load(this.#cells, 1);
  }

  beat(memoryMiB: number): void {
    Atomics.store(this.#cells, 1, Math.ceil(memoryMiB));
    Atomics.add(this.#cells, 0, 1);
  }
}

/** Measures how long a worker has sent no heartbeat. Call it once each `Heartbeat.intervalMs`. */
export class HeartbeatMonitor {
  readonly #pulse: Heartbeat;
  #seen = 0;
  #stillMs = 0;
  #lookedAt: number;

  constructor(pulse: Heartbeat, now: number) {
    this.#pulse = pulse;
    this.#lookedAt = now;
  }

  /**
   * Milliseconds without a beat, since the first one. A late look adds little: if the whole process was paused, the
   * worker could not beat either.
   */
  look(now: number): number {
    const since = Math.min(now - this.#lookedAt, 2 * Heartbeat.intervalMs);
    this.#lookedAt = now;
    const { beats } = this.#pulse;
    // Before the first beat the worker is still starting.
    this.#stillMs = beats === this.#seen && beats !== 0 ? this.#stillMs + since : 0;
    this.#seen = beats;
    return this.#stillMs;
  }
}
