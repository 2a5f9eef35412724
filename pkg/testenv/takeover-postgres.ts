import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';
import { CuttingProxy } from './cutting-proxy.ts';

const run = promisify(execFile);

/** The data folder of a standby that hears of nothing more, until it takes over. */
export interface StoppedStandby {
  readonly dataDir: string;
}

/**
 * PostgreSQL servers that take over from one another: each begins as a standby in a copy of the primary's data folder,
 * and is promoted, which begins a timeline. Clients reach the present primary through a proxy, as by its name.
 */
export class TakeoverPostgres {
  readonly name: string;
  /** Through the proxy, to the present primary. */
  readonly connection: pg.ClientConfig;
  readonly #folder: string;
  readonly #port: number;
  #dataDir: string;
  #primary: EmbeddedPostgres;
  #proxy: CuttingProxy;
  #copies = 0;

  static async start(): Promise<TakeoverPostgres> {
    // PostgreSQL's user could not read a temporary folder of root.
    const folder = await mkdtemp(join(process.getuid?.() === 0 ? '/tmp' : tmpdir(), 'svc-takeover-'));
    await chmod(folder, 0o711);
    const dataDir = join(folder, 'first');
    const primary = await startIn(dataDir);
    const { proxy, connection } = await CuttingProxy.start(primary.connection);
    return new TakeoverPostgres({ folder, dataDir, primary, proxy, connection });
  }

  private constructor({
    folder,
    dataDir,
    primary,
    proxy,
    connection,
  }: {
    folder: string;
    dataDir: string;
    primary: EmbeddedPostgres;
    proxy: CuttingProxy;
    connection: pg.ClientConfig;
  }) {
    this.#folder = folder;
    this.#dataDir = dataDir;
    this.#primary = primary;
    this.#proxy = proxy;
    this.connection = connection;
    this.name = String(primary.connection.database);
    this.#port = connection.port!;
  }

  /** A session with the primary, without the proxy; the caller ends it. */
  async connect(): Promise<pg.Client> {
    const client = new pg.Client(this.#primary.connection);
    await client.connect();
    return client;
  }

  /** Runs one statement in its own session. */
  async query<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    const client = await this.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Makes a standby that has what is committed now. The primary is away meanwhile. */
  copyStandby(): Promise<StoppedStandby> {
    return this.#whileAway(() => this.#copy());
  }

  /**
   * The standby takes the place of the primary, which is gone. Returns another standby, which has followed it to its
   * timeline and lacks everything that its clients write.
   */
  takeOver({ dataDir }: StoppedStandby): Promise<StoppedStandby> {
    return this.#whileAway(async () => {
      await this.#primary.stop();
      const names = await readdir(dataDir);
      await writeFile(
        join(
          dataDir,
          names.find((name) => name.startsWith('pgdata-'))!,
          'standby.signal',
        ),
        '',
      );
      this.#dataDir = dataDir;
      this.#primary = await startIn(dataDir);
      await this.query('SELECT pg_promote(true, 60)');
      return this.#copy();
    });
  }

  /** Also deletes all data. */
  async stop(): Promise<void> {
    await this.#proxy.stop();
    await this.#primary.stop();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #copy(): Promise<StoppedStandby> {
    this.#copies += 1;
    const dataDir = join(this.#folder, `copy-${this.#copies}`);
    await this.#primary.stop();
    await run('cp', ['-a', this.#dataDir, dataDir]);
    this.#primary = await startIn(this.#dataDir);
    return { dataDir };
  }

  async #whileAway<T>(work: () => Promise<T>): Promise<T> {
    await this.#proxy.stop();
    const result = await work();
    this.#proxy = (await CuttingProxy.start(this.#primary.connection, this.#port)).proxy;
    return result;
  }
}

function startIn(dataDir: string): Promise<EmbeddedPostgres> {
  return EmbeddedPostgres.start({ dataDir, log: silentLog, settings: { fsync: 'off', max_connections: '200' } });
}
