/** How many networks are counted; the one whose last wrong credential is oldest is removed. */
const maxNetworks = 20_000;

/**
 * Limits wrong credentials per network: above so many a minute, no credential of the network is looked up that was not
 * valid before, until time has passed. Wrong credentials themselves are not remembered: one may become valid at any
 * moment, or already be on another replica.
 */
export class WrongCredentials {
  readonly #perMinute: number;
  /** The remaining number, and the time it was computed. */
  readonly #remaining = new Map<string, { rest: number; at: number }>();

  constructor(perMinute: number) {
    this.#perMinute = perMinute;
  }

  add(network: string): void {
    const rest = this.#remainingOf(network) - 1;
    this.#remaining.delete(network);
    this.#remaining.set(network, { rest, at: performance.now() });
    if (this.#remaining.size > maxNetworks) this.#remaining.delete(this.#remaining.keys().next().value!);
  }

  isOver(network: string): boolean {
    return this.#remaining.has(network) && this.#remainingOf(network) < 1;
  }

  #remainingOf(network: string): number {
    const known = this.#remaining.get(network);
    if (known === undefined) return this.#perMinute;
    return Math.min(this.#perMinute, known.rest + ((performance.now() - known.at) / 60_000) * this.#perMinute);
  }
}
