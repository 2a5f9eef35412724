/** How long after its last success a credential still counts as good. Milliseconds. */
const defaultMaxAgeMs = 3_600_000;
const defaultMaxCount = 10_000;
const defaultMaxPerOwner = 100;

export interface VerifiedCredentialsOptions {
  maxAgeMs?: number;
  maxCount?: number;
  maxPerOwner?: number;
}

/**
 * Which credentials were good the last time, or have just been made, so that they need not stand in line with invented
 * ones. It admits nobody: each request is authenticated all the same. Holds what `CredentialKey` has alone, for an
 * hour: of at most 10 000 the latest, of one owner of 100, so that nobody pushes others out.
 */
export class VerifiedCredentials {
  private readonly options: Required<VerifiedCredentialsOptions>;
  /** When each was last good, by `performance.now()`, in this order. */
  private readonly goodAt = new Map<string, { at: number; owner: string }>();
  /** The keys of each owner, in the same order. */
  private readonly byOwner = new Map<string, Set<string>>();

  constructor({
    maxAgeMs = defaultMaxAgeMs,
    maxCount = defaultMaxCount,
    maxPerOwner = defaultMaxPerOwner,
  }: VerifiedCredentialsOptions = {}) {
    this.options = { maxAgeMs, maxCount, maxPerOwner };
  }

  has(key: string): boolean {
    const good = this.goodAt.get(key);
    return good !== undefined && performance.now() - good.at < this.options.maxAgeMs;
  }

  /** `owner`: the id of its user. */
  add(key: string, owner: string): void {
    this.delete(key);
    this.goodAt.set(key, { at: performance.now(), owner });
    const keys = this.byOwner.get(owner) ?? new Set();
    this.byOwner.set(owner, keys.add(key));
    if (keys.size > this.options.maxPerOwner) this.delete(keys.values().next().value!);
    if (this.goodAt.size > this.options.maxCount) this.delete(this.goodAt.keys().next().value!);
  }

  /** It was good, and is no longer. */
  delete(key: string): void {
    const owner = this.goodAt.get(key)?.owner;
    if (owner === undefined) return;
    this.goodAt.delete(key);
    const keys = this.byOwner.get(owner)!;
    keys.delete(key);
    if (keys.size === 0) this.byOwner.delete(owner);
  }
}
