import type { Socket } from 'node:net';

export interface ConnectionLimitsOptions {
  /** Default 10 000; what comes beyond may ask for nothing but a probe. */
  connections: number;
  /** Of one address; one beyond is closed at once. Default 0: no limit, as behind a proxy all come from one. */
  connectionsPerAddress: number;
  /** After so many a connection is closed, with the last answer saying so. Default 0: no limit. */
  requestsPerConnection: number;
}

/** What a connection is allowed: everything, a probe alone, or nothing. */
export type Admission = 'full' | 'probe' | 'none';

/** Connections kept beyond the limit, so that whoever watches over the process can still ask how it is. */
export const reservedConnections = 32;

/**
 * Counts connections against their limits. Beyond the limit a few are taken in all the same, for one probe each: of those that have not yet
 * asked anything the oldest is closed when there are too many, so that holding them open keeps nobody out.
 */
export class ConnectionLimits {
  private readonly options: ConnectionLimitsOptions;
  private readonly open = new Set<Socket>();
  private readonly byAddress = new Map<string, number>();
  /** Taken in beyond the limit; deleted from `silent` when they ask. */
  private readonly beyond = new WeakSet<Socket>();
  private readonly silent = new Set<Socket>();
  private readonly cut = new WeakSet<Socket>();
  private readonly requests = new WeakMap<Socket, number>();
  private added = 0;
  private refusedByAddress = 0;
  private refusedByCount = 0;

  constructor(options: ConnectionLimitsOptions) {
    this.options = options;
  }

  get count(): number {
    return this.open.size;
  }

  /** Connections that came, of whatever fate. */
  get seen(): number {
    return this.added;
  }

  get refused(): { address: number; total: number } {
    return { address: this.refusedByAddress, total: this.refusedByCount };
  }

  /** For connections that were not even accepted. */
  countRefused(): void {
    this.refusedByCount += 1;
  }

  /** `none` leaves the socket to be destroyed. */
  add(socket: Socket): Admission {
    const { connections, connectionsPerAddress } = this.options;
    this.added += 1;
    const address = socket.remoteAddress ?? '';
    const ofAddress = this.byAddress.get(address) ?? 0;
    if (connectionsPerAddress > 0 && ofAddress >= connectionsPerAddress) {
      this.refusedByAddress += 1;
      return 'none';
    }
    this.byAddress.set(address, ofAddress + 1);
    this.open.add(socket);
    socket.once('close', () => this.remove(socket, address));
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

  private cutOldest(): void {
    const oldest = this.silent.values().next().value;
    if (oldest === undefined) return;
    this.cut.add(oldest);
    oldest.destroy();
  }

  private remove(socket: Socket, address: string): void {
    this.open.delete(socket);
    this.silent.delete(socket);
    const left = this.byAddress.get(address)! - 1;
    if (left === 0) this.byAddress.delete(address);
    else this.byAddress.set(address, left);
  }
}
