import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/** The development PostgreSQL configured like an operator's: TCP with a password. */
export class PasswordPostgres {
  readonly url: string;
  readonly #server: EmbeddedPostgres;
  readonly #relay: Server;
  readonly #connections: ReadonlySet<Socket>;

  /** `folder` belongs to the test. */
  static async start(folder: string, address: string): Promise<PasswordPostgres> {
    await mkdir(folder, { recursive: true });
    // As root, PostgreSQL runs as another user.
    await chmod(folder, 0o755);
    const access = join(folder, 'pg_hba.conf');
    await writeFile(access, 'local all app scram-sha-256\nlocal all all trust\n', { mode: 0o644 });
    const server = await EmbeddedPostgres.start({
      dataDir: folder,
      log: silentLog,
      settings: { hba_file: access, fsync: 'off', max_connections: '300' },
    });
    const password = randomBytes(12).toString('hex');
    const administrator = new pg.Client(server.connection);
    await administrator.connect();
    await administrator.query(`CREATE ROLE app LOGIN PASSWORD '${password}'`);
    await administrator.query('CREATE DATABASE svc OWNER app');
    await administrator.end();
    const connections = new Set<Socket>();
    const relay = createServer((client) => {
      const upstream = connect(`${String(server.connection.host)}/.s.PGSQL.${server.connection.port ?? 5432}`);
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        connections.add(one);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
        one.pipe(other);
      }
    });
    relay.listen(5432, address);
    await once(relay, 'listening');
    return new PasswordPostgres(server, { relay, connections, url: `postgres://app:${password}@${address}:5432/svc` });
  }

  private constructor(
    server: EmbeddedPostgres,
    { relay, connections, url }: { relay: Server; connections: ReadonlySet<Socket>; url: string },
  ) {
    this.#server = server;
    this.#relay = relay;
    this.#connections = connections;
    this.url = url;
  }

  async stop(): Promise<void> {
    this.#relay.close();
    for (const connection of this.#connections) connection.destroy();
    await this.#server.stop();
  }
}
