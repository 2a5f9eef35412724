import { networkOf } from '#pkg/http/index';
import { TooManyPasswordsError } from './hashing-queue.ts';

/** Limit of attempts in progress. More would wait too long for their passwords to be hashed. */
export const maxLoginAttempts = 32;

/**
 * Runs attempts for one account one after another, and limits the attempts in progress, in total and per network. So
 * many right passwords at once never count as a series of failures, waiting clients get their answer in time, and no
 * network can block all others. Each of the `processes` of a replica has its part of what one account and one network
 * may have; `inAll` is that of this process.
 */
export class AttemptQueue {
  readonly #tails = new Map<string, { waiting: number; over: Promise<void> }>();
  readonly #ofNetworks = new Map<string, number>();
  readonly #perAccount: number;
  readonly #perNetwork: number;
  readonly #inAll: number;
  #count = 0;

  constructor({
    perAccount = 16,
    perNetwork = 8,
    inAll = maxLoginAttempts,
    processes = 1,
  }: { perAccount?: number; perNetwork?: number; inAll?: number; processes?: number } = {}) {
    this.#perAccount = Math.ceil(perAccount / processes);
    this.#perNetwork = Math.ceil(perNetwork / processes);
    this.#inAll = inAll;
  }

  /** @throws TooManyPasswordsError at once if too many are in progress */
  async run<T>({ account, address }: { account: string; address: string }, attempt: () => Promise<T>): Promise<T> {
    const network = networkOf(address);
    const ofNetwork = this.#ofNetworks.get(network) ?? 0;
    const tail = this.#tails.get(account) ?? { waiting: 0, over: Promise.resolve() };
    if (this.#count >= this.#inAll || ofNetwork >= this.#perNetwork || tail.waiting >= this.#perAccount)
      throw new TooManyPasswordsError();
    this.#count += 1;
    this.#ofNetworks.set(network, ofNetwork + 1);
    tail.waiting += 1;
    this.#tails.set(account, tail);
    const attempted = tail.over.then(attempt);
    tail.over = attempted.then(nothing, nothing);
    try {
      return await attempted;
    } finally {
      this.#count -= 1;
      this.#leave(network);
      tail.waiting -= 1;
      if (tail.waiting === 0) this.#tails.delete(account);
    }
  }

  #leave(network: string): void {
    const left = this.#ofNetworks.get(network)! - 1;
    if (left === 0) this.#ofNetworks.delete(network);
    else this.#ofNetworks.set(network, left);
  }
}

function nothing(): void {}
