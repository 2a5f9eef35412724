/** From this number on the cause is not single objects. */
const maxFailures = 16;

/** Collects failures: one failing item does not stop the others. */
export class Failures {
  #count = 0;
  #first: unknown;

  /** @throws the error of `work`, after too many failures. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#count === 0) this.#first = error;
      this.#count += 1;
      if (this.#count >= maxFailures) throw error;
    }
  }

  /** @throws the first failure, if there was one. */
  rethrow(): void {
    if (this.#count > 0) throw this.#first;
  }
}
