import type { Socket } from 'node:net';
import { networkOf, peerAddress, type TrustedProxies } from './client-address.ts';

export interface ConnectionLimitsOptions {
  /** Default 10 000; connections above it may request only probes. */
  connections: number;
  /**
   * Limit of one address (IPv6: of one /64), trusted proxies exempt; a connection above it is closed at once. Default
   * 0: no limit, since behind a proxy all connections have one address.
   */
  connectionsPerAddress: number;
  /** The last answer announces that the connection closes. Default 0: no limit. */
  requestsPerConnection: number;
}

export interface ConnectionLimitsParts {
  /** Their connections carry many clients and count against no address. */
  proxies: TrustedProxies;
  /** Whether no request is running on it; takes the socket after the TLS handshake. */
  isIdle: (socket: Socket) => boolean;
  /** Whether the connection only waits for its client, which has not read answers for some time. */
  isUnread: (socket: Socket) => boolean;
  /** Counts those of other processes, too. Default: only those of this one count. */
  addresses?: AddressCounter | undefined;
}

/** Counts the connections of each address over several processes. */
export interface AddressCounter {
  /** Counts one more; false if the address has `limit` of them. A counted one must call `leave`. Never rejects. */
  enter(network: string, limit: number): Promise<boolean>;
  leave(network: string): void;
}

/** What a connection may request: everything, one probe, or nothing. */
export type Admission = 'full' | 'probe' | 'none';

/** Connections accepted above the limit, so that probes of the process still get through. */
export const reservedConnections = 32;

/**
 * Enforces the limits of connections. A connection above the limit replaces an idle one, else one whose answers are not
 * read: the oldest of the address with the most connections, so one client with many connections blocks no other. If
 * there is none, up to 32 are accepted for one probe each. At more, the oldest that has sent no request is closed, so
 * open connections never block probes.
 */
export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #open = new Set<Socket>();
  readonly #parts: ConnectionLimitsParts;
  readonly #shares = new ConnectionShares();
  /** Key: the socket before the TLS handshake; value: the one after it. */
  readonly #afterHandshake = new WeakMap<Socket, Socket>();
  /** Accepted above the limit; removed from `silent` at their first request. */
  readonly #beyond = new WeakSet<Socket>();
  readonly #withoutRequest = new Set<Socket>();
  readonly #cut = new WeakSet<Socket>();
  readonly #requests = new WeakMap<Socket, number>();
  #added = 0;
  #refusedByAddress = 0;
  #refusedByCount = 0;
  #replacedCount = 0;

  constructor(options: ConnectionLimitsOptions, parts: ConnectionLimitsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  get count(): number {
    return this.#open.size;
  }

  /** All connections that arrived, also refused ones. */
  get seen(): number {
    return this.#added;
  }

  /** `idle`: closed to make room for a newer one. */
  get refused(): { address: number; total: number; idle: number } {
    return { address: this.#refusedByAddress, total: this.#refusedByCount, idle: this.#replacedCount };
  }

  /** For connections that Node dropped before accepting them. */
  countRefused(): void {
    this.#refusedByCount += 1;
  }

  /** At `none` the caller destroys the socket. */
  add(socket: Socket): Admission {
    const { connections, connectionsPerAddress } = this.#options;
    this.#added += 1;
    const address = peerAddress(socket);
    const network = this.#parts.proxies.trusts(address) ? undefined : networkOf(address);
    if (network !== undefined && connectionsPerAddress > 0 && this.#shares.countOf(network) >= connectionsPerAddress) {
      this.#refusedByAddress += 1;
      return 'none';
    }
    if (this.#open.size >= connections) this.#makeRoom();
    this.#open.add(socket);
    if (network !== undefined) {
      this.#shares.add(network, socket);
      if (connectionsPerAddress > 0) void this.#countEverywhere(network, socket);
    }
    socket.once('close', () => this.#remove(socket, network));
    if (this.#open.size <= connections) return 'full';
    this.#refusedByCount += 1;
    this.#beyond.add(socket);
    if (this.#withoutRequest.size >= reservedConnections) this.#cutOldest();
    this.#withoutRequest.add(socket);
    return 'probe';
  }

  /** Closes a connection that is one too many for its address, with those of other processes. Never rejects. */
  async #countEverywhere(network: string, socket: Socket): Promise<void> {
    const { addresses } = this.#parts;
    if (addresses === undefined) return;
    if (!(await addresses.enter(network, this.#options.connectionsPerAddress))) {
      this.#refusedByAddress += 1;
      socket.destroy();
    } else if (socket.closed) addresses.leave(network);
    else socket.once('close', () => addresses.leave(network));
  }

  /** Whether it was closed to make room for a newer one. */
  wasReplaced(socket: Socket): boolean {
    return this.#cut.has(socket);
  }

  /** Call when the TLS handshake is done: from then on Node uses another socket. */
  carry(from: Socket, to: Socket): void {
    this.#afterHandshake.set(from, to);
    if (!this.#beyond.has(from)) return;
    this.#beyond.add(to);
    if (!this.#withoutRequest.delete(from)) return;
    this.#withoutRequest.add(to);
    to.once('close', () => this.#withoutRequest.delete(to));
  }

  /** Call at each request. Whether the connection may request only probes. */
  isProbeOnly(socket: Socket): boolean {
    if (!this.#beyond.has(socket)) return false;
    this.#withoutRequest.delete(socket);
    return true;
  }

  /** Call once per request. Node's own limit announces the end in the answer, but leaves the connection open. */
  isLastRequest(socket: Socket): boolean {
    const { requestsPerConnection } = this.#options;
    if (requestsPerConnection === 0) return false;
    const count = (this.#requests.get(socket) ?? 0) + 1;
    this.#requests.set(socket, count);
    return count >= requestsPerConnection;
  }

  /** Closes an idle connection to make room for a newer one. */
  replaceIdle(idle: Socket): void {
    this.#replacedCount += 1;
    this.#cut.add(idle);
    this.#remove(idle, networkOf(peerAddress(idle)));
    idle.destroy();
  }

  #cutOldest(): void {
    const oldest = this.#withoutRequest.values().next().value;
    if (oldest === undefined) return;
    this.#cut.add(oldest);
    oldest.destroy();
  }

  #makeRoom(): void {
    const { isIdle, isUnread } = this.#parts;
    const oldest = (fits: (socket: Socket) => boolean): Socket | undefined =>
      this.#shares.oldest((socket) => !this.#beyond.has(socket) && fits(this.#afterHandshake.get(socket) ?? socket));
    const found = oldest(isIdle) ?? oldest(isUnread);
    if (found !== undefined) this.replaceIdle(found);
  }

  #remove(socket: Socket, network: string | undefined): void {
    this.#open.delete(socket);
    this.#withoutRequest.delete(socket);
    if (network !== undefined) this.#shares.remove(network, socket);
  }
}

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
