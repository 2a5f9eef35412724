import { hash } from 'node:crypto';

/** How long after its last success a credential still counts as good. Milliseconds. */
const defaultMaxAgeMs = 60_000;
const defaultMaxCount = 10_000;

/**
 * Which credentials were good a moment ago, so that they need not stand in line with invented ones. It admits nobody: each request is authenticated all the same.
 * Holds hashes alone, at most 10 000, the latest.
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

  static hashOf(credential: string): string {
    return hash('sha256', credential, 'base64');
  }

  has(credentialHash: string): boolean {
    const at = this.goodAt.get(credentialHash);
    return at !== undefined && performance.now() - at < this.maxAgeMs;
  }

  add(credentialHash: string): void {
    this.goodAt.delete(credentialHash);
    this.goodAt.set(credentialHash, performance.now());
    if (this.goodAt.size > this.maxCount) this.goodAt.delete(this.goodAt.keys().next().value!);
  }
}
