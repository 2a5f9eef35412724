import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/** Settings of a database without durability. */
export const unsafeSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** The default parent of data folders: PostgreSQL's user could not read a temporary folder of root. */
export const defaultDataParent = process.getuid?.() === 0 ? '/tmp' : tmpdir();

export interface PostgresProcessOptions {
  /** A new folder is created in it. Default: the temporary folder. */
  readonly parent?: string;
  /** Instead: this folder. */
  readonly folder?: string;
  /** Default: the durable settings of `svc serve`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * The embedded PostgreSQL of `svc serve` in its own folder, independent of servers. A suite that needs more of it has a
 * subclass.
 */
export class PostgresProcess {
  /** May also contain other files of the run. */
  readonly folder: string;
  readonly connection: pg.ClientConfig;
  readonly #postgres: EmbeddedPostgres;

  static async start<Process extends PostgresProcess>(
    this: new (folder: string, postgres: EmbeddedPostgres) => Process,
    { parent = defaultDataParent, folder: given, settings = {} }: PostgresProcessOptions = {},
  ): Promise<Process> {
    const folder = given ?? (await mkdtemp(join(parent, 'svc-postgres-')));
    await mkdir(folder, { recursive: true });
    // As root, PostgreSQL runs as another user.
    await chmod(folder, 0o755);
    return new this(folder, await EmbeddedPostgres.start({ dataDir: folder, log: silentLog, settings }));
  }

  /** Use `start`. */
  constructor(folder: string, postgres: EmbeddedPostgres) {
    this.folder = folder;
    this.#postgres = postgres;
    this.connection = postgres.connection;
  }

  get socketPath(): string {
    return `${this.connection.host ?? ''}/.s.PGSQL.${this.connection.port ?? 5432}`;
  }

  /** For `svc.database.url`. */
  url(database = 'postgres'): string {
    const { host, user } = this.connection;
    return `postgres://${user}@/${database}?host=${host}`;
  }

  /** The data folder; throws if PostgreSQL keeps it outside of `folder`, which its user cannot enter then. */
  get dataFolder(): string {
    const name = readdirSync(this.folder).find((each) => /^pgdata-\d+$/.test(each));
    if (name === undefined)
      throw new Error(`PostgreSQL keeps its data outside of ${this.folder}: choose a folder it can enter (--data)`);
    return join(this.folder, name);
  }

  /** The postmaster's process id. Throws during a restart. */
  get postmaster(): number {
    return Number.parseInt(readFileSync(join(this.dataFolder, 'postmaster.pid'), 'utf8'), 10);
  }

  /** Throws if the name exists. */
  async create(database: string): Promise<void> {
    await this.query(`CREATE DATABASE ${database}`);
  }

  /** Runs one statement in its own session. */
  async query<Row extends pg.QueryResultRow = Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<Row[]> {
    const client = new pg.Client(this.connection);
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  }

  /** Stops PostgreSQL and removes the folder, unless `keep` is set. */
  async stop({ keep = false }: { keep?: boolean } = {}): Promise<void> {
    await this.#postgres.stop();
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }
}
