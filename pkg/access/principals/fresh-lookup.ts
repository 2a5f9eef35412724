interface Flight<T> {
  answer: Promise<T>;
  hasBegun: boolean;
  next?: Promise<T>;
}

/**
 * Answers concurrent calls for one key with few lookups, none older than the call. Calls of one turn of the event loop
 * share a lookup, which begins at its end. A call during a running lookup shares the next one, never the running one,
 * which may have read data that has just changed.
 */
export class FreshLookup<T> {
  readonly #work: (key: string) => Promise<T>;
  readonly #flights = new Map<string, Flight<T>>();

  constructor(work: (key: string) => Promise<T>) {
    this.#work = work;
  }

  get(key: string): Promise<T> {
    const flight = this.#flights.get(key);
    if (flight === undefined) return this.#plan(key);
    if (!flight.hasBegun) return flight.answer;
    const again = (): Promise<T> => this.#plan(key);
    flight.next ??= flight.answer.then(again, again);
    return flight.next;
  }

  #plan(key: string): Promise<T> {
    const answer = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      flight.hasBegun = true;
      return this.#work(key);
    });
    const flight: Flight<T> = { answer, hasBegun: false };
    this.#flights.set(key, flight);
    // Attached first, so it runs before `next` is planned.
    const end = (): void => {
      if (flight.next === undefined) this.#flights.delete(key);
    };
    answer.then(end, end);
    return answer;
  }
}
