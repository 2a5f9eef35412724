/**
 * Answers many who ask the same at once with few lookups, none of them older than the question: who comes while one is
 * under way shares the next one, never the running one, which may have read what has just been changed.
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
    // Runs before `next` begins, as it is attached first.
    const end = (): void => {
      if (flight.next === undefined) this.#flights.delete(key);
    };
    flight.running.then(end, end);
    return flight.running;
  }
}
