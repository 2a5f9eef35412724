/** How long a credential counts as verified after its last success. Milliseconds. */
const defaultMaxAgeMs = 3_600_000;
const defaultMaxCount = 10_000;
const defaultMaxPerOwner = 100;

export interface VerifiedCredentialsOptions {
  maxAgeMs?: number;
  maxCount?: number;
  maxPerOwner?: number;
}

/**
 * Credentials that were valid the last time or have just been issued; they do not wait behind invalid ones. This admits
 * no request: each is still authenticated. Keeps only `CredentialKey`s, for an hour: the latest 10 000, and 100 per
 * owner, so that no owner pushes out others.
 */
export class VerifiedCredentials {
  readonly #options: Required<VerifiedCredentialsOptions>;
  /** When each was last valid, by `performance.now()`; oldest first. */
  readonly #verifiedAt = new Map<string, { at: number; owner: string }>();
  /** The keys of each owner, oldest first. */
  readonly #byOwner = new Map<string, Set<string>>();

  constructor({
    maxAgeMs = defaultMaxAgeMs,
    maxCount = defaultMaxCount,
    maxPerOwner = defaultMaxPerOwner,
  }: VerifiedCredentialsOptions = {}) {
    this.#options = { maxAgeMs, maxCount, maxPerOwner };
  }

  has(key: string): boolean {
    const good = this.#verifiedAt.get(key);
    return good !== undefined && performance.now() - good.at < this.#options.maxAgeMs;
  }

  /** `owner`: the id of its user. */
  add(key: string, owner: string): void {
    this.delete(key);
    this.#verifiedAt.set(key, { at: performance.now(), owner });
    const keys = this.#byOwner.get(owner) ?? new Set();
    this.#byOwner.set(owner, keys.add(key));
    if (keys.size > this.#options.maxPerOwner) this.delete(keys.values().next().value!);
    if (this.#verifiedAt.size > this.#options.maxCount) this.delete(this.#verifiedAt.keys().next().value!);
  }

  /** For a credential that is no longer valid. */
  delete(key: string): void {
    const owner = this.#verifiedAt.get(key)?.owner;
    if (owner === undefined) return;
    this.#verifiedAt.delete(key);
    const keys = this.#byOwner.get(owner)!;
    keys.delete(key);
    if (keys.size === 0) this.#byOwner.delete(owner);
  }
}
