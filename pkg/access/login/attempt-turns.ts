import { TooManyPasswordsError } from '../passwords/turn-queue.ts';

/**
 * Lets attempts for one account follow each other, and bounds how many are under way: so many right passwords at once never look like a series of guesses,
 * and who waits is answered in time.
 */
export class AttemptTurns {
  readonly #tails = new Map<string, { waiting: number; over: Promise<void> }>();
  readonly #perAccount: number;
  readonly #inAll: number;
  #count = 0;

  constructor({ perAccount = 16, inAll = 64 }: { perAccount?: number; inAll?: number } = {}) {
    this.#perAccount = perAccount;
    this.#inAll = inAll;
  }

  /** @throws TooManyPasswordsError at once where too many are under way */
  async run<T>(account: string, attempt: () => Promise<T>): Promise<T> {
    const tail = this.#tails.get(account) ?? { waiting: 0, over: Promise.resolve() };
    if (this.#count >= this.#inAll || tail.waiting >= this.#perAccount) throw new TooManyPasswordsError();
    this.#count += 1;
    tail.waiting += 1;
    this.#tails.set(account, tail);
    const attempted = tail.over.then(attempt);
    tail.over = attempted.then(nothing, nothing);
    try {
      return await attempted;
    } finally {
      this.#count -= 1;
      tail.waiting -= 1;
      if (tail.waiting === 0) this.#tails.delete(account);
    }
  }
}

function nothing(): void {}
