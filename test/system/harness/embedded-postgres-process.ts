import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { EmbeddedPostgres, silentLog } from '#pkg/database/index';

/** Settings of a database that need not survive. */
export const unsafeSettings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Where data folders go by default: one of root's own would be closed to PostgreSQL's user. */
export const defaultDataParent = process.getuid?.() === 0 ? '/tmp' : tmpdir();

export interface EmbeddedPostgresOptions {
  /** A new folder is made in it. Default: the temporary folder. */
  readonly parent?: string;
  /** Instead: this folder. */
  readonly folder?: string;
  /** Default: the durable settings of `svc serve`. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** The embedded PostgreSQL of `svc serve` in a folder of its own; servers come and go on it. */
export class EmbeddedPostgresProcess {
  /** What else the run leaves behind may go there too. */
  readonly folder: string;
  readonly connection: pg.ClientConfig;
  readonly #postgres: EmbeddedPostgres;

  static async start({
    parent = defaultDataParent,
    folder: given,
    settings = {},
  }: EmbeddedPostgresOptions = {}): Promise<EmbeddedPostgresProcess> {
    const folder = given ?? (await mkdtemp(join(parent, 'svc-postgres-')));
    await mkdir(folder, { recursive: true });
    // PostgreSQL runs as another user where we are root.
    await chmod(folder, 0o755);
    return new EmbeddedPostgresProcess(
      folder,
      await EmbeddedPostgres.start({ dataDir: folder, log: silentLog, settings }),
    );
  }

  private constructor(folder: string, postgres: EmbeddedPostgres) {
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

  /** The data folder; throws where PostgreSQL keeps it outside of `folder`, which its user cannot enter then. */
  get dataFolder(): string {
    const name = readdirSync(this.folder).find((each) => /^pgdata-\d+$/.test(each));
    if (name === undefined)
      throw new Error(`PostgreSQL keeps its data outside of ${this.folder}: choose a folder it can enter (--data)`);
    return join(this.folder, name);
  }

  /** The process id of the postmaster. Throws while it starts anew. */
  get postmaster(): number {
    return Number.parseInt(readFileSync(join(this.dataFolder, 'postmaster.pid'), 'utf8'), 10);
  }

  /** Throws where the name is taken. */
  async create(database: string): Promise<void> {
    await this.query(`CREATE DATABASE ${database}`);
  }

  /** One statement in a session of its own. */
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

  /** Ends PostgreSQL and removes the folder, unless it is to be kept. */
  async stop({ keep = false }: { keep?: boolean } = {}): Promise<void> {
    await this.#postgres.stop();
    if (!keep) await rm(this.folder, { recursive: true, force: true });
  }
}
