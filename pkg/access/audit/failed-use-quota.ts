import { networkOf } from '../throttle/network-of.ts';

const windowMs = 60_000;
const perAddress = 60;
const inAll = 1_000;

/**
 * How many uses of wrong credentials are worth a row: they cost whoever sends them nothing, and are looked at before requests are counted. In a minute the
 * first 60 of an address, and 1000 in all, of each replica.
 */
export class FailedUseQuota {
  readonly #counts = new Map<string, number>();
  #total = 0;
  #startedAt = -Infinity;

  take(address: string): boolean {
    const now = performance.now();
    if (now - this.#startedAt >= windowMs) {
      this.#startedAt = now;
      this.#total = 0;
      this.#counts.clear();
    }
    if (this.#total >= inAll) return false;
    const network = networkOf(address);
    const count = this.#counts.get(network) ?? 0;
    if (count >= perAddress) return false;
    this.#counts.set(network, count + 1);
    this.#total += 1;
    return true;
  }
}
