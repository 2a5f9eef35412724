/**
 * Answers concurrent calls for one key with few lookups, none older than the call: a call during a running lookup
 * shares the next one, never the running one, which may have read data that has just changed.
 */
export class FreshLookup<T> {
  readonly #work: (key: string) => Promise<T>;
  readonly #flights = new Map<string, { running: Promise<T>; next?: Promise<T> }>();

  constructor(work: (key: string) => Promise<T>) {
    this.#work = work;
  }

  get(key: string): Promise<T> {
    const flight = this.#flights.get(key);
    if (flight === undefined) return this.#start(key);
    const again = (): Promise<T> => this.#start(key);
    flight.next ??= flight.running.then(again, again);
    return flight.next;
  }

  #start(key: string): Promise<T> {
    const flight: { running: Promise<T>; next?: Promise<T> } = { running: this.#work(key) };
    this.#flights.set(key, flight);
    // Attached first, so it runs before `next` begins.
    const end = (): void => {
      if (flight.next === undefined) this.#flights.delete(key);
    };
    flight.running.then(end, end);
    return flight.running;
  }
}
