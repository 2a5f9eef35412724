/** Networks that are counted; the one that has been quiet for longest goes. */
const maxNetworks = 20_000;

/**
 * How many wrong credentials came from each network: beyond so many a minute none of its credentials is looked up that
 * was not good before, until time has passed. None is remembered itself: it may be good in a moment, on another replica
 * it may be so already.
 */
export class WrongCredentials {
  private readonly perMinute: number;
  /** How many may still come, and when that was so. */
  private readonly rests = new Map<string, { rest: number; at: number }>();

  constructor(perMinute: number) {
    this.perMinute = perMinute;
  }

  add(network: string): void {
    const rest = this.restOf(network) - 1;
    this.rests.delete(network);
    this.rests.set(network, { rest, at: performance.now() });
    if (this.rests.size > maxNetworks) this.rests.delete(this.rests.keys().next().value!);
  }

  isOver(network: string): boolean {
    return this.rests.has(network) && this.restOf(network) < 1;
  }

  private restOf(network: string): number {
    const known = this.rests.get(network);
    if (known === undefined) return this.perMinute;
    return Math.min(this.perMinute, known.rest + ((performance.now() - known.at) / 60_000) * this.perMinute);
  }
}
