import { abortError, newServiceUnavailable, whenAborted, type StatusError } from '#pkg/apimachinery/index';

/** Running calls: each ends by itself, by its caller's signal, or together with all others. */
export class CallSet {
  readonly #calls = new Set<AbortController>();
  #closed: StatusError | undefined;

  get size(): number {
    return this.#calls.size;
  }

  /**
   * `work` must reject when its signal fires, with the signal's reason. @throws StatusError 503 once closed, and what
   * `abortError` says
   */
  async run<T>(signal: AbortSignal | undefined, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#closed !== undefined) throw this.#closed;
    if (signal?.aborted === true) throw abortError(signal);
    const own = new AbortController();
    const forget = whenAborted(signal, () => own.abort(abortError(signal!)));
    this.#calls.add(own);
    try {
      return await work(own.signal);
    } finally {
      this.#calls.delete(own);
      forget();
    }
  }

  close(): void {
    this.#closed ??= newServiceUnavailable('the client is closed');
    for (const call of this.#calls) call.abort(this.#closed);
  }
}
