/** How long after its last success a credential still counts as good. Milliseconds. */
const defaultMaxAgeMs = 3_600_000;
const defaultMaxCount = 10_000;

/**
 * Which credentials were good the last time, so that they need not stand in line with invented ones. It admits nobody: each request is authenticated all the same.
 * Holds what `CredentialKey` has alone, of at most 10 000, the latest, for an hour.
 */
export class VerifiedCredentials {
  private readonly maxAgeMs: number;
  private readonly maxCount: number;
  /** When each was last good, by `performance.now()`, in this order. */
  private readonly goodAt = new Map<string, number>();

  constructor({ maxAgeMs = defaultMaxAgeMs, maxCount = defaultMaxCount }: { maxAgeMs?: number; maxCount?: number } = {}) {
    this.maxAgeMs = maxAgeMs;
    this.maxCount = maxCount;
  }

  has(key: string): boolean {
    const at = this.goodAt.get(key);
    return at !== undefined && performance.now() - at < this.maxAgeMs;
  }

  add(key: string): void {
    this.goodAt.delete(key);
    this.goodAt.set(key, performance.now());
    if (this.goodAt.size > this.maxCount) this.goodAt.delete(this.goodAt.keys().next().value!);
  }

  /** It was good, and is no longer. */
  delete(key: string): void {
    this.goodAt.delete(key);
  }
}
