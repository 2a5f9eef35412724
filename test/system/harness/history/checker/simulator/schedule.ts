/** The actions of a client: each yield waits for that many milliseconds. */
export type Activity = Generator<number, void, void>;

/** Runs activities step by step in the order of a simulated time. */
export class Schedule {
  now = 1000;
  readonly #waiting: { at: number; activity: Activity }[] = [];

  /** `after`: milliseconds from now. */
  start(activity: Activity, after = 0): void {
    this.#waiting.push({ at: this.now + after, activity });
  }

  run(): void {
    while (this.#waiting.length > 0) {
      let first = 0;
      for (let i = 1; i < this.#waiting.length; i += 1) if (this.#waiting[i]!.at < this.#waiting[first]!.at) first = i;
      const next = this.#waiting[first]!;
      this.now = next.at;
      const { value, done } = next.activity.next();
      if (done === true) this.#waiting.splice(first, 1);
      else next.at = this.now + value;
    }
  }
}
