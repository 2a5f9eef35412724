import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { PostgresProcess } from '../harness/process/postgres-process.ts';

/** The development PostgreSQL configured like an operator's: TCP with a password. */
export class PasswordPostgres extends PostgresProcess {
  readonly #connections = new Set<Socket>();
  readonly #password = randomBytes(12).toString('hex');
  #relay: Server | undefined;
  #address = '';

  /** `folder` belongs to the test. */
  static async startAt(address: string, folder: string): Promise<PasswordPostgres> {
    await mkdir(folder, { recursive: true });
    const access = join(folder, 'pg_hba.conf');
    await writeFile(access, 'local all app scram-sha-256\nlocal all all trust\n', { mode: 0o644 });
    const settings = { hba_file: access, fsync: 'off', max_connections: '300' };
    const postgres = await PasswordPostgres.start({ folder, settings });
    await postgres.query(`CREATE ROLE app LOGIN PASSWORD '${postgres.#password}'`);
    await postgres.query('CREATE DATABASE svc OWNER app');
    await postgres.#listen(address);
    return postgres;
  }

  /** By TCP, with the password. */
  override url(database = 'svc'): string {
    return `postgres://app:${this.#password}@${this.#address}:5432/${database}`;
  }

  /** Keeps the folder. */
  override async stop(): Promise<void> {
    this.#relay?.close();
    for (const connection of this.#connections) connection.destroy();
    await super.stop({ keep: true });
  }

  async #listen(address: string): Promise<void> {
    const relay = createServer((client) => {
      const upstream = connect(this.socketPath);
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        this.#connections.add(one);
        one.on('error', () => other.destroy()).on('close', () => other.destroy());
        one.pipe(other);
      }
    });
    relay.listen(5432, address);
    await once(relay, 'listening');
    this.#relay = relay;
    this.#address = address;
  }
}
