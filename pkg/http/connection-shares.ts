import type { Socket } from 'node:net';

/** How many connections of a network are looked at for an idle one, at a time. */
const maxLooks = 64;

/** Whose the open connections are, by network, and who has most of them; each step takes the same time, however many there are. */
export class ConnectionShares {
  /** Of each network the oldest first. */
  private readonly byNetwork = new Map<string, Set<Socket>>();
  /** Networks that have so many. */
  private readonly bySize = new Map<number, Set<string>>();
  private largest = 0;

  countOf(network: string): number {
    return this.byNetwork.get(network)?.size ?? 0;
  }

  add(network: string, socket: Socket): void {
    const sockets = this.byNetwork.get(network) ?? new Set();
    this.byNetwork.set(network, sockets.add(socket));
    this.move(network, sockets.size - 1, sockets.size);
    this.largest = Math.max(this.largest, sockets.size);
  }

  remove(network: string, socket: Socket): void {
    const sockets = this.byNetwork.get(network);
    if (sockets?.delete(socket) !== true) return;
    if (sockets.size === 0) this.byNetwork.delete(network);
    this.move(network, sockets.size + 1, sockets.size);
    if (!this.bySize.has(this.largest)) this.largest -= 1;
  }

  /** The oldest connection of who has most that is idle; of very many that are not only some are looked at, others the next time. */
  oldestIdle(isIdle: (socket: Socket) => boolean): Socket | undefined {
    const [network] = this.bySize.get(this.largest) ?? [];
    const sockets = network === undefined ? undefined : this.byNetwork.get(network);
    if (sockets === undefined) return undefined;
    let looks = 0;
    for (const socket of sockets) {
      if (isIdle(socket)) return socket;
      looks += 1;
      // To the end, so that the next look meets others.
      sockets.delete(socket);
      sockets.add(socket);
      if (looks === Math.min(maxLooks, sockets.size)) return undefined;
    }
    return undefined;
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
