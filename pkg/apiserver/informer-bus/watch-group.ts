/** Watches that end together: those of one schema of a model. A watch that joins after the end is ended at once. */
export class WatchGroup {
  readonly #members = new Set<{ end(reason: string): void }>();
  #ended: string | undefined;

  get endReason(): string | undefined {
    return this.#ended;
  }

  get size(): number {
    return this.#members.size;
  }

  /** @returns a function that removes the member. */
  add(member: { end(reason: string): void }): () => void {
    this.#members.add(member);
    return () => this.#members.delete(member);
  }

  end(reason: string): void {
    this.#ended ??= reason;
    for (const member of this.#members) member.end(reason);
  }
}
