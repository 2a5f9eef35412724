/** How long a user counts as active after a request. Milliseconds. */
const activeMs = 1000;

interface Request {
  user: string;
  /** By `performance.now()`. */
  at: number;
}

/** Knows whether anybody else asks for something: the last request, and the last one of another user, are enough. */
export class UserActivity {
  #last: Request = { user: '', at: -Infinity };
  #lastOfAnother: Request = this.#last;

  note(user: string): void {
    if (this.#last.user !== user) this.#lastOfAnother = this.#last;
    this.#last = { user, at: performance.now() };
  }

  /** Whether no other user asked for anything within the last second. */
  isAlone(user: string): boolean {
    const { at } = this.#last.user === user ? this.#lastOfAnother : this.#last;
    return performance.now() - at > activeMs;
  }
}
