import type { Socket } from 'node:net';

/** How many connections one call of `oldest` checks at most. */
const maxChecks = 64;

/**
 * The open connections by network, with the networks ordered by their number of connections. The cost of a search
 * hardly depends on the number of connections.
 */
export class ConnectionShares {
  /** Oldest first within each network. */
  readonly #byNetwork = new Map<string, Set<Socket>>();
  /** The networks that have this number of connections. */
  readonly #bySize = new Map<number, Set<string>>();

  countOf(network: string): number {
    return this.#byNetwork.get(network)?.size ?? 0;
  }

  add(network: string, socket: Socket): void {
    const sockets = this.#byNetwork.get(network) ?? new Set();
    this.#byNetwork.set(network, sockets.add(socket));
    this.#move(network, sockets.size - 1, sockets.size);
  }

  remove(network: string, socket: Socket): void {
    const sockets = this.#byNetwork.get(network);
    if (sockets?.delete(socket) !== true) return;
    if (sockets.size === 0) this.#byNetwork.delete(network);
    this.#move(network, sockets.size + 1, sockets.size);
  }

  /**
   * The oldest connection that fits, of the network with the most connections, then of the next. Checks at most 64
   * connections; the next call checks others.
   */
  oldest(fits: (socket: Socket) => boolean): Socket | undefined {
    let looks = maxChecks;
    for (const sockets of this.#largestFirst()) {
      // At most half of the remaining checks for one network, so that the next networks are checked too.
      let left = Math.min(sockets.size, Math.ceil(looks / 2));
      looks -= left;
      for (const socket of sockets) {
        if (fits(socket)) return socket;
        // Moved to the end, so that the next call checks others.
        sockets.delete(socket);
        sockets.add(socket);
        left -= 1;
        if (left === 0) break;
      }
      if (looks === 0) return undefined;
    }
    return undefined;
  }

  *#largestFirst(): Generator<Set<Socket>> {
    // N connections have fewer distinct sizes than the square root of 2 N.
    for (const size of [...this.#bySize.keys()].toSorted((a, b) => b - a))
      for (const network of this.#bySize.get(size)!) yield this.#byNetwork.get(network)!;
  }

  #move(network: string, from: number, to: number): void {
    const before = this.#bySize.get(from);
    before?.delete(network);
    if (before?.size === 0) this.#bySize.delete(from);
    if (to === 0) return;
    const after = this.#bySize.get(to);
    if (after === undefined) this.#bySize.set(to, new Set([network]));
    else after.add(network);
  }
}
