import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/** For servers, replicas, and as many plain clients as are compared with them. */
const maxConnections = 300;

/**
 * The embedded PostgreSQL of `svc serve`, with its durable settings, in a folder of its own; servers come and go beside
 * it.
 */
export class BenchDatabase {
  /** What else the run leaves behind goes there too. */
  readonly folder: string;
  readonly connection: pg.ClientConfig;
  readonly postmaster: number;
  readonly #postgres: EmbeddedPostgres;

  static async start(dataParent: string): Promise<BenchDatabase> {
    const folder = await mkdtemp(join(dataParent, 'svc-bench-'));
    // PostgreSQL may run as another user than we.
    await chmod(folder, 0o755);
    const postgres = await EmbeddedPostgres.start({
      dataDir: folder,
      log: silentLog,
      settings: { max_connections: String(maxConnections) },
    });
    return new BenchDatabase(folder, postgres, await readPostmaster(folder));
  }

  private constructor(folder: string, postgres: EmbeddedPostgres, postmaster: number) {
    this.folder = folder;
    this.#postgres = postgres;
    this.connection = postgres.connection;
    this.postmaster = postmaster;
  }

  /** For `svc.database.url`. */
  url(database = 'postgres'): string {
    const { host, user } = this.connection;
    return `postgres://${user}@/${database}?host=${host}`;
  }

  /** Throws where the name is taken. */
  async create(database: string): Promise<void> {
    await this.query(`CREATE DATABASE ${database}`);
  }

  async query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(text)).rows;
    } finally {
      await client.end();
    }
  }

  /** Ends PostgreSQL and removes the folder. */
  async stop(): Promise<void> {
    await this.#postgres.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

async function readPostmaster(folder: string): Promise<number> {
  const cluster = (await readdir(folder)).find((name) => name.startsWith('pgdata-'));
  if (cluster === undefined)
    throw new Error('PostgreSQL keeps its data elsewhere: choose a folder it can enter, with --data');
  return Number.parseInt(await readFile(join(folder, cluster, 'postmaster.pid'), 'utf8'), 10);
}
