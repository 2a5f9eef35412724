/** Counts what was examined, so that a run in which a rule had nothing to examine is seen to be one. */
export class Statistics {
  private readonly counts = new Map<string, number>();

  add(what: string, count = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + count);
  }

  max(what: string, value: number): void {
    this.counts.set(what, Math.max(this.counts.get(what) ?? 0, value));
  }

  /** By name, sorted. */
  toObject(): Record<string, number> {
    return Object.fromEntries([...this.counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}
