import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** The state of the connection to the database. */
export type ProxyMode =
  | { type: 'open' }
  /** Everything arrives with a delay. */
  | { type: 'slow'; delayMs: number }
  /** Nothing arrives until the connection is restored, then everything: a short network outage. */
  | { type: 'stalled' }
  /** One direction is lost permanently, the other works. */
  | { type: 'deaf'; lost: 'requests' | 'answers' }
  /** The port refuses connections. */
  | { type: 'refused' };

interface Pair {
  client: Socket;
  upstream: Socket;
  /** Lost directions of a connection never recover. */
  lost: Set<'requests' | 'answers'>;
}

/** A proxy between one server and PostgreSQL that can disturb their connection. */
export class FaultProxy {
  readonly #socketPath: string;
  readonly #pairs = new Set<Pair>();
  #server: Server | undefined;
  #mode: ProxyMode = { type: 'open' };
  #port = 0;
  #reopened: (() => void)[] = [];

  /** Connections go to the unix socket at `socketPath`. */
  static async start(socketPath: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(socketPath);
    await proxy.#listen();
    return proxy;
  }

  private constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  get port(): number {
    return this.#port;
  }

  get connections(): number {
    return this.#pairs.size;
  }

  async setMode(mode: ProxyMode): Promise<void> {
    this.#mode = mode;
    if (mode.type === 'deaf') for (const pair of this.#pairs) pair.lost.add(mode.lost);
    if (mode.type === 'refused') await this.#close();
    else await this.#listen();
    if (mode.type !== 'stalled') for (const go of this.#reopened.splice(0)) go();
  }

  /**
   * Withholds responses for the duration of a statement, then cuts the connection: the statements are executed, but the
   * server does not know.
   */
  async cut(): Promise<void> {
    const chosen = [...this.#pairs];
    for (const { lost } of chosen) lost.add('answers');
    await delay(30);
    for (const { client } of chosen) client.destroy();
  }

  /**
   * Closes the database's end of every connection without telling the server, which waits for responses that never
   * come.
   */
  abandon(): void {
    for (const { upstream, lost } of this.#pairs) {
      lost.add('requests').add('answers');
      upstream.destroy();
    }
  }

  /** Closes the server's end without telling the database, whose sessions and locks remain until `forget`. */
  orphan(): void {
    for (const { client, lost } of this.#pairs) {
      lost.add('requests').add('answers');
      client.destroy();
    }
  }

  /** Closes the database's ends that `orphan` has left. */
  forget(): void {
    for (const { client, upstream } of this.#pairs) if (client.destroyed) upstream.destroy();
  }

  async stop(): Promise<void> {
    for (const { client, upstream } of this.#pairs) {
      client.destroy();
      upstream.destroy();
    }
    await this.#close();
  }

  async #listen(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = createServer((client) => this.#join(client));
    this.#server = server;
    server.listen(this.#port, '127.0.0.1');
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
  }

  async #close(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    const closed = once(server, 'close');
    server.close();
    for (const { client } of this.#pairs) client.destroy();
    await closed;
  }

  #join(client: Socket): void {
    const mode = this.#mode;
    const pair: Pair = {
      client,
      upstream: connect(this.#socketPath),
      lost: new Set(mode.type === 'deaf' ? [mode.lost] : []),
    };
    this.#pairs.add(pair);
    this.#carry(pair, 'requests');
    this.#carry(pair, 'answers');
  }

  #carry(pair: Pair, what: 'requests' | 'answers'): void {
    const [from, to] = what === 'requests' ? [pair.client, pair.upstream] : [pair.upstream, pair.client];
    from.setNoDelay(true);
    // One at a time, to keep the order.
    let last: Promise<void> = Promise.resolve();
    from.on('data', (bytes: Buffer) => {
      const mode = this.#mode;
      if (pair.lost.has(what)) return;
      if (mode.type === 'open') {
        void last.then(() => this.#pass(pair, what, bytes, to));
        return;
      }
      from.pause();
      last = this.#passLate({ after: last, mode, pass: () => this.#pass(pair, what, bytes, to), from });
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      // The other end does not learn of a deliberately lost one.
      if (pair.lost.size < 2) void last.then(() => to.destroy());
      if (pair.client.destroyed && pair.upstream.destroyed) this.#pairs.delete(pair);
    });
  }

  async #passLate({
    after,
    mode,
    pass,
    from,
  }: {
    after: Promise<void>;
    mode: ProxyMode;
    pass: () => void;
    from: Socket;
  }): Promise<void> {
    await after;
    await this.#hold(mode);
    pass();
    from.resume();
  }

  #pass(pair: Pair, what: 'requests' | 'answers', bytes: Buffer, to: Socket): void {
    if (!pair.lost.has(what) && !to.destroyed) to.write(bytes);
  }

  async #hold(mode: ProxyMode): Promise<void> {
    if (mode.type === 'slow') await delay(mode.delayMs);
    if (mode.type === 'stalled' && this.#mode.type === 'stalled') {
      await new Promise<void>((resolve) => {
        this.#reopened.push(resolve);
      });
    }
  }
}
