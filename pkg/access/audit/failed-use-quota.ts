import { networkOf } from '#pkg/http/index';

const windowMs = 60_000;

/**
 * Limits the audit rows of wrong credentials, as the client can send them at no cost and they are checked before
 * requests are counted. Per minute and replica: the first `perAddress` of an address (for IPv6 a /64; default 60), and
 * `inAll` (1000); each of the `processes` of a replica has its part of both.
 */
export class FailedUseQuota {
  readonly #counts = new Map<string, number>();
  readonly #perAddress: number;
  readonly #inAll: number;
  #total = 0;
  #startedAt = -Infinity;

  constructor({
    perAddress = 60,
    inAll = 1000,
    processes = 1,
  }: { perAddress?: number; inAll?: number; processes?: number } = {}) {
    this.#perAddress = Math.ceil(perAddress / processes);
    this.#inAll = Math.ceil(inAll / processes);
  }

  take(address: string): boolean {
    const now = performance.now();
    if (now - this.#startedAt >= windowMs) {
      this.#startedAt = now;
      this.#total = 0;
      this.#counts.clear();
    }
    if (this.#total >= this.#inAll) return false;
    const network = networkOf(address);
    const count = this.#counts.get(network) ?? 0;
    if (count >= this.#perAddress) return false;
    this.#counts.set(network, count + 1);
    this.#total += 1;
    return true;
  }
}
