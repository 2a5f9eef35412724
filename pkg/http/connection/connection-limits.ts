import type { Socket } from 'node:net';
import { peerAddress, type TrustedProxies } from './client-address.ts';
import { ConnectionShares } from './connection-shares.ts';
import { networkOf } from './network-of.ts';

export interface ConnectionLimitsOptions {
  /** Default 10 000; what comes beyond may ask for nothing but a probe. */
  connections: number;
  /**
   * Of one address (of IPv6: one /64) that is no trusted proxy's; one beyond is closed at once. Default 0: no limit, as
   * behind a proxy all come from one.
   */
  connectionsPerAddress: number;
  /** After so many a connection is closed, with the last answer saying so. Default 0: no limit. */
  requestsPerConnection: number;
}

export interface ConnectionLimitsParts {
  /** Whose connections are of many clients, and count as nobody's. */
  proxies: TrustedProxies;
  /** Is nothing under way on it? Of a connection as it is after its handshake. */
  isIdle: (socket: Socket) => boolean;
  /** Is nothing left to do on it but to send answers, which its client has not read for some time? */
  isUnread: (socket: Socket) => boolean;
}

/** What a connection is allowed: everything, a probe alone, or nothing. */
export type Admission = 'full' | 'probe' | 'none';

/** Connections kept beyond the limit, so that whoever watches over the process can still ask how it is. */
export const reservedConnections = 32;

/**
 * Counts connections against their limits. One beyond the limit takes the place of another on which nothing is under
 * way, or else whose answers are not read, the oldest of the address that has most: so whoever opens very many keeps
 * nobody out. Where there is none, a few are taken in all the same, for one probe each: of those that have not yet
 * asked anything the oldest is closed when there are too many, so that holding them open keeps nobody out.
 */
export class ConnectionLimits {
  private readonly options: ConnectionLimitsOptions;
  private readonly open = new Set<Socket>();
  private readonly parts: ConnectionLimitsParts;
  private readonly shares = new ConnectionShares();
  /** By what they were before their handshake. */
  private readonly carried = new WeakMap<Socket, Socket>();
  /** Taken in beyond the limit; deleted from `silent` when they ask. */
  private readonly beyond = new WeakSet<Socket>();
  private readonly silent = new Set<Socket>();
  private readonly cut = new WeakSet<Socket>();
  private readonly requests = new WeakMap<Socket, number>();
  private added = 0;
  private refusedByAddress = 0;
  private refusedByCount = 0;
  private madeRoom = 0;

  constructor(options: ConnectionLimitsOptions, parts: ConnectionLimitsParts) {
    this.options = options;
    this.parts = parts;
  }

  get count(): number {
    return this.open.size;
  }

  /** Connections that came, of whatever fate. */
  get seen(): number {
    return this.added;
  }

  /** `idle`: closed for one that came later. */
  get refused(): { address: number; total: number; idle: number } {
    return { address: this.refusedByAddress, total: this.refusedByCount, idle: this.madeRoom };
  }

  /** For connections that were not even accepted. */
  countRefused(): void {
    this.refusedByCount += 1;
  }

  /** `none` leaves the socket to be destroyed. */
  add(socket: Socket): Admission {
    const { connections, connectionsPerAddress } = this.options;
    this.added += 1;
    const address = peerAddress(socket);
    const network = this.parts.proxies.trusts(address) ? undefined : networkOf(address);
    if (network !== undefined && connectionsPerAddress > 0 && this.shares.countOf(network) >= connectionsPerAddress) {
      this.refusedByAddress += 1;
      return 'none';
    }
    if (this.open.size >= connections) this.makeRoom();
    this.open.add(socket);
    if (network !== undefined) this.shares.add(network, socket);
    socket.once('close', () => this.remove(socket, network));
    if (this.open.size <= connections) return 'full';
    this.refusedByCount += 1;
    this.beyond.add(socket);
    if (this.silent.size >= reservedConnections) this.cutOldest();
    this.silent.add(socket);
    return 'probe';
  }

  /** Was it closed for one that came later? */
  hasCut(socket: Socket): boolean {
    return this.cut.has(socket);
  }

  /** For a connection whose TLS handshake is done: to Node it is another socket from here on. */
  carry(from: Socket, to: Socket): void {
    this.carried.set(from, to);
    if (!this.beyond.has(from)) return;
    this.beyond.add(to);
    if (!this.silent.delete(from)) return;
    this.silent.add(to);
    to.once('close', () => this.silent.delete(to));
  }

  /** To be called when a request comes: is the connection one of those for probes alone? */
  isBeyond(socket: Socket): boolean {
    if (!this.beyond.has(socket)) return false;
    this.silent.delete(socket);
    return true;
  }

  /** To be called once a request: Node's own limit says so in the answer, and leaves the connection open. */
  isLastRequest(socket: Socket): boolean {
    const { requestsPerConnection } = this.options;
    if (requestsPerConnection === 0) return false;
    const count = (this.requests.get(socket) ?? 0) + 1;
    this.requests.set(socket, count);
    return count >= requestsPerConnection;
  }

  /** Closes a connection on which nothing is worked for one that came later. */
  cutIdle(idle: Socket): void {
    this.madeRoom += 1;
    this.cut.add(idle);
    this.remove(idle, networkOf(peerAddress(idle)));
    idle.destroy();
  }

  private cutOldest(): void {
    const oldest = this.silent.values().next().value;
    if (oldest === undefined) return;
    this.cut.add(oldest);
    oldest.destroy();
  }

  private makeRoom(): void {
    const { isIdle, isUnread } = this.parts;
    const oldest = (fits: (socket: Socket) => boolean): Socket | undefined =>
      this.shares.oldest((socket) => !this.beyond.has(socket) && fits(this.carried.get(socket) ?? socket));
    const found = oldest(isIdle) ?? oldest(isUnread);
    if (found !== undefined) this.cutIdle(found);
  }

  private remove(socket: Socket, network: string | undefined): void {
    this.open.delete(socket);
    this.silent.delete(socket);
    if (network !== undefined) this.shares.remove(network, socket);
  }
}
