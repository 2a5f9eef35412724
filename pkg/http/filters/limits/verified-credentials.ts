/** How long a credential counts as verified after its last success. Milliseconds. */
const defaultMaxAgeMs = 3_600_000;
const defaultMaxCount = 10_000;
const defaultMaxPerOwner = 100;

/** The owner of a credential that was valid. */
export interface CredentialOwner {
  /** The id of its user. */
  readonly id: string;
  /** Whether all requests of the owner belong to the priority level `system`. */
  readonly isSystem: boolean;
}

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
  readonly #verifiedAt = new Map<string, { at: number; owner: CredentialOwner }>();
  /** The keys of each owner, oldest first. */
  readonly #byOwner = new Map<string, Set<string>>();

  constructor({
    maxAgeMs = defaultMaxAgeMs,
    maxCount = defaultMaxCount,
    maxPerOwner = defaultMaxPerOwner,
  }: VerifiedCredentialsOptions = {}) {
    this.#options = { maxAgeMs, maxCount, maxPerOwner };
  }

  /** The owner of a credential that is known; undefined for any other. */
  ownerOf(key: string): CredentialOwner | undefined {
    const good = this.#verifiedAt.get(key);
    return good !== undefined && performance.now() - good.at < this.#options.maxAgeMs ? good.owner : undefined;
  }

  /** `isSystem`: absent where the groups of the owner are unknown; what was known remains. */
  add(key: string, id: string, isSystem?: boolean): void {
    const known = this.#verifiedAt.get(key)?.owner;
    this.delete(key);
    const owner = { id, isSystem: isSystem ?? (known?.id === id && known.isSystem) };
    this.#verifiedAt.set(key, { at: performance.now(), owner });
    const keys = this.#byOwner.get(id) ?? new Set();
    this.#byOwner.set(id, keys.add(key));
    if (keys.size > this.#options.maxPerOwner) this.delete(keys.values().next().value!);
    if (this.#verifiedAt.size > this.#options.maxCount) this.delete(this.#verifiedAt.keys().next().value!);
  }

  /** For a credential that is no longer valid. */
  delete(key: string): void {
    const owner = this.#verifiedAt.get(key)?.owner;
    if (owner === undefined) return;
    this.#verifiedAt.delete(key);
    const keys = this.#byOwner.get(owner.id)!;
    keys.delete(key);
    if (keys.size === 0) this.#byOwner.delete(owner.id);
  }
}
