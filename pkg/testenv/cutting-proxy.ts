import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { ClientConfig } from 'pg';
import { pause } from '#pkg/apimachinery/index';

/**
 * A proxy between a client and PostgreSQL for tests: it forwards requests, but can withhold the response and cut the
 * connection, so that a write is committed without its acknowledgement.
 */
export class CuttingProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; upstream: Socket }>();

  private constructor(target: ClientConfig) {
    this.#server = createServer((client) => this.#join(client, connectTo(target)));
  }

  /** Returns the proxy and the connection through it; port 0 takes a free one. */
  static async start(target: ClientConfig, at = 0): Promise<{ proxy: CuttingProxy; connection: ClientConfig }> {
    const proxy = new CuttingProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(at, '127.0.0.1', resolve));
    const { port } = proxy.#server.address() as AddressInfo;
    return { proxy, connection: { ...target, host: '127.0.0.1', port } };
  }

  /** Withholds the responses on some of the connections for the duration of a statement, then cuts them. */
  async cut(share: number): Promise<void> {
    const chosen = [...this.#pairs].filter(() => Math.random() < share);
    for (const { client, upstream } of chosen) upstream.unpipe(client);
    await pause(30);
    for (const { client } of chosen) client.destroy();
  }

  async stop(): Promise<void> {
    for (const { client } of this.#pairs) client.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket, upstream: Socket): void {
    const pair = { client, upstream };
    this.#pairs.add(pair);
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }
}

function connectTo({ host = 'localhost', port = 5432 }: ClientConfig): Socket {
  return host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
}
