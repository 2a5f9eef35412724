/** So many, and it is no longer about single objects. */
const mostFailures = 16;

/** What failed among many: one of them does not keep the others from being worked on. */
export class Failures {
  #count = 0;
  #first: unknown;

  /** @throws what `work` throws, where too much has failed already. */
  async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#count === 0) this.#first = error;
      this.#count += 1;
      if (this.#count >= mostFailures) throw error;
    }
  }

  /** @throws the first failure, if there was one. */
  rethrow(): void {
    if (this.#count > 0) throw this.#first;
  }
}
