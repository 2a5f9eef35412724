import type { Socket } from 'node:net';

/** How many connections are looked at for one that fits, at a time. */
const maxLooks = 64;

/**
 * Whose the open connections are, by network, and who has most of them; to find one takes hardly longer where there are
 * many.
 */
export class ConnectionShares {
  /** Of each network the oldest first. */
  private readonly byNetwork = new Map<string, Set<Socket>>();
  /** Networks that have so many. */
  private readonly bySize = new Map<number, Set<string>>();

  countOf(network: string): number {
    return this.byNetwork.get(network)?.size ?? 0;
  }

  add(network: string, socket: Socket): void {
    const sockets = this.byNetwork.get(network) ?? new Set();
    this.byNetwork.set(network, sockets.add(socket));
    this.move(network, sockets.size - 1, sockets.size);
  }

  remove(network: string, socket: Socket): void {
    const sockets = this.byNetwork.get(network);
    if (sockets?.delete(socket) !== true) return;
    if (sockets.size === 0) this.byNetwork.delete(network);
    this.move(network, sockets.size + 1, sockets.size);
  }

  /**
   * Of who has most, then of who has next most: the oldest connection that fits. Of very many that do not only some are
   * looked at, others the next time.
   */
  oldest(fits: (socket: Socket) => boolean): Socket | undefined {
    let looks = maxLooks;
    for (const sockets of this.largestFirst()) {
      // So that who has many of which none fits leaves some looks for the next.
      let left = Math.min(sockets.size, Math.ceil(looks / 2));
      looks -= left;
      for (const socket of sockets) {
        if (fits(socket)) return socket;
        // To the end, so that the next look meets others.
        sockets.delete(socket);
        sockets.add(socket);
        left -= 1;
        if (left === 0) break;
      }
      if (looks === 0) return undefined;
    }
    return undefined;
  }

  private *largestFirst(): Generator<Set<Socket>> {
    // Of N connections there are fewer sizes than the square root of 2 N.
    for (const size of [...this.bySize.keys()].toSorted((a, b) => b - a))
      for (const network of this.bySize.get(size)!) yield this.byNetwork.get(network)!;
  }

  private move(network: string, from: number, to: number): void {
    const before = this.bySize.get(from);
    before?.delete(network);
    if (before?.size === 0) this.bySize.delete(from);
    if (to === 0) return;
    const after = this.bySize.get(to);
    if (after === undefined) this.bySize.set(to, new Set([network]));
    else after.add(network);
  }
}
